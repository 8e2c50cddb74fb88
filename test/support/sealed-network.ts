/**
 * A network and process ids apart from those of this machine, so that the fixed ports of the docs and of written files are
 * free, and nothing outlives a test. Linux only; not every container allows it.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { findProgram, type ProgramName } from './programs.ts';
import { MAIN, NODE } from './tested-command.ts';

const isRoot = process.getuid?.() === 0;
/** The words before a command that runs sealed. Its end ends all that it started. */
export const SEALED = [
  'unshare',
  ...(isRoot ? [] : ['--map-root-user']),
  ...['--net', '--pid', '--fork', '--kill-child', '--mount-proc'],
];

export const canSeal =
  spawnSync(SEALED[0] ?? '', [...SEALED.slice(1), 'ip', 'link', 'set', 'lo', 'up']).status === 0;

/** Puts `headgate`, an application for port 3000 and the named programs into a folder, and returns a PATH with it. */
export function commandsIn(
  folder: string,
  programs: Readonly<Record<string, ProgramName | undefined>>,
): string {
  mkdirSync(folder, { recursive: true });
  const script = (name: string, line: string) => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${line}\n`);
    chmodSync(join(folder, name), 0o755);
  };
  script('headgate', `exec '${NODE}' '${MAIN}' "$@"`);
  script(
    'application',
    `exec '${NODE}' -e "require('node:http').createServer((q, s) => s.end('hello\\n')).listen(3000)"`,
  );
  for (const [name, program] of Object.entries(programs)) {
    const path = program && findProgram(program);
    if (path === undefined) continue;
    // Its shared memory is that of the machine, where another Envoy may run.
    if (name === 'envoy') script(name, `exec '${path}' "$@" --use-dynamic-base-id`);
    else symlinkSync(path, join(folder, name));
  }
  return `${folder}${delimiter}${process.env.PATH}`;
}

/** Waits until a gateway of this network is ready, and until the proxy of the docs accepts connections. */
export const AWAIT_GATEWAY = awaiting('http://127.0.0.1:9464/readyz');
export const AWAIT_PROXY = awaiting('http://127.0.0.1:8000/');

function awaiting(url: string): string {
  const loop = `until curl -s -o /dev/null --max-time 20 ${url}; do sleep 0.05; done`;
  return `timeout 100 sh -c '${loop}'`;
}
