/** What the figures were measured on: they mean nothing without it. */
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';

export function machineLine(): string {
  const [, redis] =
    /v=(\S+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' })) ?? [];
  return `${cpus().length} x ${cpus()[0]?.model}, Node ${process.versions.node}, Redis ${redis}`;
}
