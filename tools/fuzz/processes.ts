/** What the processes of a gateway use, from proc(5). */
import { readdirSync, readFileSync } from 'node:fs';
import { residentBytes } from '../../test/support/resident-memory.ts';

export interface Usage {
  /** Of all processes. */
  readonly residentBytes: number;
  readonly descriptors: number;
}

/** 0 for a process that has ended. */
export function usageOf(pid: number): Usage {
  const sum = { residentBytes: 0, descriptors: 0 };
  for (const each of [pid, ...childrenOf(pid)]) {
    try {
      sum.descriptors += readdirSync(`/proc/${each}/fd`).length;
      sum.residentBytes += residentBytes(each);
    } catch {
      // It has ended.
    }
  }
  return sum;
}

export function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return text === '' ? [] : text.split(' ').map(Number);
  } catch {
    return [];
  }
}
