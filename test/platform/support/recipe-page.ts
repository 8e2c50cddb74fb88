/** Reads a page of docs/recipes, and runs its commands against a gateway with its policy file. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Gateway } from '../../support/gateway.ts';
import { MAIN, NODE } from '../../support/tested-command.ts';

interface Run {
  /** A block of commands, as written. */
  readonly commands: string;
  /** What the page shows below it. */
  readonly shown: string;
}

export interface RecipePage {
  readonly policies: string;
  readonly tests: string;
  readonly runs: readonly Run[];
}

const FENCE = /^```(\w*)\n(.*?)^```$/gms;

export function readRecipe(file: URL): RecipePage {
  const blocks = [...readFileSync(file, 'utf8').matchAll(FENCE)].map(
    ([, language = '', text = '']) => ({ language, text }),
  );
  /** Empty if there is none. */
  const only = (start: string) => {
    const found = blocks.filter(
      ({ language, text }) => language === 'yaml' && text.startsWith(start),
    );
    if (found.length > 1) throw new Error(`${file.pathname}: ${found.length} blocks ${start}`);
    return found[0]?.text ?? '';
  };
  const runs = blocks.flatMap(({ language, text }, i) => {
    if (language !== 'sh') return [];
    const next = blocks[i + 1];
    if (next?.language !== 'text') throw new Error(`${file.pathname}: nothing shown after ${text}`);
    return [{ commands: text, shown: next.text }];
  });
  return { policies: only('version: 1\n'), tests: only('policies: policies.yaml\n'), runs };
}

/** Only where they lead differs from what a reader types: the ports of this gateway, the headgate of this test. */
const PRELUDE = `set -euo pipefail
curl() { command curl --connect-to "127.0.0.1:8080:127.0.0.1:$CHECK_PORT" "$@"; }
headgate() { "$NODE" "$MAIN" "$@"; }
`;

/** What the commands print. */
export async function runCommands(commands: string, gateway: Gateway, folder: string) {
  const child = spawn('bash', ['-c', PRELUDE + commands], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      LC_ALL: 'C.UTF-8',
      NODE,
      MAIN,
      CHECK_PORT: String(gateway.port),
      HEADGATE_OPS_PORT: new URL(gateway.opsUrl).port,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const [code] = await once(child, 'close');
  return { code: code as number | null, printed };
}

/** Lines that every HTTP response has. Pages leave them out. */
const PLUMBING = /^(cache-control|content-type|content-length|date|connection|keep-alive):/i;

/** Without what differs from run to run: ids, names of clients, points in time. */
export function comparable(printed: string): string {
  return printed
    .replaceAll('\r', '')
    .split('\n')
    .filter((line) => !PLUMBING.test(line))
    .join('\n')
    .trim()
    .replaceAll(/\b[0-9a-f]{12}-\d+/g, 'DECISION')
    .replaceAll(/\b[ikcuh]\.[\w-]{22}/g, 'CLIENT')
    .replaceAll(/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, 'TIME')
    .replaceAll(/(X-RateLimit-Reset: )\d{10}/g, '$1EPOCH')
    .replaceAll(/ {2,}/g, '  ');
}

const WAITS = /(?<=;t=|Retry-After: |"retry_after":|again in )\d+/g;
/** A busy machine may need some seconds from one request to the next. */
const WAIT_TOLERANCE_S = 15;

/** Texts with the waits taken out, and the waits. */
export function waitsOf(text: string): {
  readonly text: string;
  readonly waits: readonly number[];
} {
  return {
    text: text.replaceAll(WAITS, 'WAIT'),
    waits: [...text.matchAll(WAITS)].map(([seconds]) => Number(seconds)),
  };
}

export function agree(shown: readonly number[], real: readonly number[]): boolean {
  return shown.every((wait, i) => Math.abs(wait - (real[i] ?? Infinity)) <= WAIT_TOLERANCE_S);
}
