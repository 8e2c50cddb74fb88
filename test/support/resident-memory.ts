/** The resident memory of a process, from proc(5), VmRSS. */
import { readFileSync } from 'node:fs';

export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}
