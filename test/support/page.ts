/**
 * Runs a page of docs/ as its reader would, in a folder and a network of its own:
 *
 * - A block whose fence names a file, as in "```yaml policies.yaml", is that file. A "```diff FILE" is a file of the
 *   reader: it is there from the start, without the lines that begin with a plus.
 * - The commands of "```sh" run one block after the other in one shell. If one ends in `&`, the next block runs when the
 *   port in the comment behind it, or else that of the proxy (8000), accepts connections; after `-s reload`, when the old
 *   workers of NGINX are gone.
 * - A "```text" after commands is a part of what they print. A line `...` stands for any lines. Numbers and ids change
 *   from run to run, so words with digits, long words and the width of gaps are not compared.
 * - Every other block is not run: "```console" is for what the machine of the tests does not have.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ProgramName } from './programs.ts';
import { commandsIn, SEALED } from './sealed-network.ts';

const DOCS = fileURLToPath(new URL('../../docs', import.meta.url));

export interface Block {
  readonly language: string;
  /** The file that it is, if the fence names one. */
  readonly file: string | undefined;
  readonly text: string;
}

/** The fenced blocks of a page, without the indentation of a list. */
export function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^( *)```(\w+)(?: (\S+))?\n(.*?)^ *```$/gms)].map(
    ([, indent = '', language = '', file, text = '']) => ({
      language,
      file,
      text: text
        .split('\n')
        .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line))
        .join('\n'),
    }),
  );
}

export interface PageOptions {
  /** Programs by the names that the page uses. */
  readonly programs?: Readonly<Record<string, ProgramName | undefined>>;
  /** Commands that start what the reader has. */
  readonly before?: string;
  /** Blocks of commands that name it do not run: the page has other ones to choose in their place. */
  readonly without?: string;
}

/** What a block of commands printed, and what the page says that it prints. */
export interface Sample {
  readonly printed: string;
  readonly shown: string;
}

const END_OF_BLOCK = '=== end of block ===';
const AT_MOST_MS = 120_000;

/** `name` is a path in docs/. Throws if a command fails. */
export function runPage(name: string, options: PageOptions = {}): Sample[] {
  const { programs = {}, before = '', without } = options;
  const blocks = blocksOf(readFileSync(join(DOCS, name), 'utf8')).filter(
    ({ language, text }) => language !== 'sh' || !isNamed(without, text),
  );
  const folder = mkdtempSync(join(tmpdir(), 'headgate-page-'));
  try {
    const script = ['ip link set lo up', 'set -e', ...ownFiles(blocks), before, FUNCTIONS];
    script.push(...blocks.map(commandsOf));
    const path = commandsIn(join(folder, '.bin'), programs);
    const { status, signal, printed } = runSealed(script.join('\n'), folder, path);
    if (status !== 0) throw new Error(`${name}: ended with ${status ?? signal}\n${printed}`);
    return samplesOf(blocks, printed.split(`${END_OF_BLOCK}\n`));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * What is printed goes to a file. Programs in Node make a pipe that they share with others return an error where it is full,
 * and curl then ends with 23.
 */
function runSealed(script: string, folder: string, path: string) {
  const file = join(folder, '.printed');
  const output = openSync(file, 'a');
  try {
    const run = spawnSync(SEALED[0] ?? '', [...SEALED.slice(1), 'bash', '-c', script], {
      cwd: folder,
      stdio: ['ignore', output, output],
      timeout: AT_MOST_MS,
      env: { ...process.env, HOME: folder, PATH: path },
    });
    return { ...run, printed: readFileSync(file, 'utf8') };
  } finally {
    closeSync(output);
  }
}

const FUNCTIONS = `
accepting() { until (: < /dev/tcp/127.0.0.1/$1) 2> /dev/null; do sleep 0.05; done; }
workers() { pgrep -f 'nginx: worker process$' | sort; }
reloaded() { while [ -n "$(comm -12 <(workers) <(echo "$1"))" ]; do :; done; }
`;

/** Files of the reader, as they are before the page. */
function ownFiles(blocks: readonly Block[]): string[] {
  return blocks.flatMap(({ language, file, text }) =>
    language === 'diff' && file !== undefined ? [writing(file, withoutLines('+', text))] : [],
  );
}

function commandsOf({ language, file, text }: Block): string {
  if (file !== undefined)
    return writing(file, language === 'diff' ? withoutLines('-', text) : text);
  if (language !== 'sh') return '';
  return [
    'old=$(workers)',
    text,
    ...(/ &( +#.*)?$/m.test(text) ? [`accepting ${startedPort(text)}`] : []),
    ...(text.includes('-s reload') ? ['reloaded "$old"'] : []),
    `echo '${END_OF_BLOCK}'`,
  ].join('\n');
}

const isNamed = (program: string | undefined, commands: string) =>
  program !== undefined && new RegExp(`^${program} `, 'm').test(commands);

function startedPort(commands: string): string {
  return / & +#.*?127\.0\.0\.1:(\d+)/.exec(commands)?.[1] ?? '8000';
}

function writing(file: string, text: string): string {
  return `mkdir -p "$(dirname ${file})"; cat > ${file} <<'end of the file'\n${text}\nend of the file`;
}

function withoutLines(mark: '+' | '-', text: string): string {
  const lines = text.split('\n').filter((line) => !line.startsWith(mark));
  return lines.map((line) => line.slice(1)).join('\n');
}

function samplesOf(blocks: readonly Block[], printed: readonly string[]): Sample[] {
  let ran = 0;
  return blocks.flatMap(({ language, text }, i) => {
    if (language === 'sh') ran++;
    const follows = blocks[i - 1]?.language === 'sh';
    return language === 'text' && follows ? [{ printed: printed[ran - 1] ?? '', shown: text }] : [];
  });
}

/** Whether the output has the shown lines, in this order. */
export function prints({ printed, shown }: Sample): boolean {
  const lines = printed.split('\n').map(comparable);
  let from = 0;
  for (const line of shown.trimEnd().split('\n')) {
    if (line === '...') continue;
    const at = lines.indexOf(comparable(line), from);
    if (at === -1) return false;
    from = at + 1;
  }
  return true;
}

function comparable(line: string): string {
  return line
    .trimEnd()
    .replaceAll(/[\w.-]{20,}|[\w-]*\d[\w-]*/g, '0')
    .replaceAll(/ +/g, ' ');
}
