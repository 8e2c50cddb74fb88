/** Entries of an access log for tests: random, but the same each time. */
import type { LogEntry } from '../../src/cli/evidence/formats/log-format.ts';

export const LOG_START_MS = Date.UTC(2026, 10, 1, 22);

export function logEntry(parts: Partial<LogEntry> = {}): LogEntry {
  return {
    startMs: LOG_START_MS,
    method: 'GET',
    target: '/',
    host: undefined,
    address: '203.0.113.9',
    forwardedFor: undefined,
    status: 200,
    userAgent: undefined,
    fields: [],
    ...parts,
  };
}

/** A linear congruential generator (Numerical Recipes, 3rd edition, section 7.1): numbers from 0 to 1. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const TARGETS = ['/login', '//login', '/LOGIN/', '/search?q=1', '/a/%2e%2e/login', '/x', '/a%00b'];

/** Some clients send much, most send little; a third has IPv6 addresses, of which several share a network. */
export function randomEntries(count: number, meanGapMs: number, seed = 1): LogEntry[] {
  const random = seededRandom(seed);
  let startMs = LOG_START_MS;
  return Array.from({ length: count }, () => {
    startMs += Math.floor(random() * 2 * meanGapMs);
    const client = Math.floor(random() ** 3 * 300);
    const address =
      client % 3 === 0
        ? `2001:db8:${client % 5}:${client % 7}::${(client + 1).toString(16)}`
        : `198.51.${client % 2}.${client % 250}`;
    const target = TARGETS[Math.floor(random() * TARGETS.length)] ?? '/';
    return logEntry({ startMs, address, target, method: random() < 0.5 ? 'POST' : 'GET' });
  });
}

/** As NGINX writes it in its format `combined`, with a line break. */
export function combinedLine(entry: LogEntry): string {
  const { startMs, address, method, target, status, userAgent = 'curl/8.5.0' } = entry;
  const [, day, month, year, time] =
    /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(new Date(startMs).toUTCString()) ?? [];
  const stamp = `${day}/${month}/${year}:${time} +0000`;
  return `${address} - - [${stamp}] "${method} ${target} HTTP/1.1" ${status} 612 "-" "${userAgent}"\n`;
}
