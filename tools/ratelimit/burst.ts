/** Sends calls of Envoy's rate limit filter around the end of a window of the clock, and counts what is let through. */
import { setTimeout as sleep } from 'node:timers/promises';
import { descriptor, type RateLimitClient } from '../../test/support/rate-limits.ts';

export const LIMIT = 5;
export const KEY = 'client';
export const DOMAIN = 'bursts';

export const WINDOWS_MS = { second: 1_000, minute: 60_000 } as const;
export type BurstUnit = keyof typeof WINDOWS_MS;

export interface Burst {
  /** Calls that were let through before the end of the window, and after it. */
  readonly before: number;
  readonly after: number;
  /** From the first call to the last answer, milliseconds. */
  readonly tookMs: number;
}

/** When the calls of the first half begin, before the end of a window. */
const EARLY_MS = 150;
/** The clocks of this process, of the service and of Redis are the same, but are read at different moments. */
const MARGIN_MS = 5;
const MOST_ATTEMPTS = 100;

/** A rate limit file: `LIMIT` calls per unit for each client. */
export function burstRules(unit: BurstUnit): string {
  return `domain: ${DOMAIN}
descriptors: [{ key: ${KEY}, rate_limit: { unit: ${unit}, requests_per_unit: ${LIMIT} } }]
`;
}

export function burstCall(client: string): object {
  return { domain: DOMAIN, descriptors: [descriptor({ [KEY]: client })] };
}

/** Throws if a call has no answer. */
export async function passes(client: RateLimitClient, name: string): Promise<boolean> {
  const { message, details } = await client.ask(burstCall(name));
  if (message === undefined) throw new Error(`a call has no answer: ${details}`);
  return message.overall_code === 'OK';
}

/**
 * `LIMIT` calls just before the end of a window, and as many just after it. On a busy machine they may come late: then
 * another client tries again, so that the result does not depend on the speed of the machine.
 */
export async function burstAround(client: RateLimitClient, unit: BurstUnit): Promise<Burst> {
  const windowMs = WINDOWS_MS[unit];
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const name = `${process.pid}-${Date.now()}`;
    // Another client: it opens the connection.
    await passes(client, `${name}-warm`);
    const endMs = Math.ceil((Date.now() + EARLY_MS) / windowMs) * windowMs;
    await until(endMs - EARLY_MS);
    const startedMs = Date.now();
    const before = await countPassed(client, name);
    const isEarly = startedMs >= endMs - windowMs && Date.now() < endMs - MARGIN_MS;
    await until(endMs + MARGIN_MS);
    const after = await countPassed(client, name);
    const tookMs = Date.now() - startedMs;
    if (isEarly && tookMs < windowMs - MARGIN_MS) return { before, after, tookMs };
  }
  throw new Error(`in ${MOST_ATTEMPTS} attempts, the calls never came at their time`);
}

async function countPassed(client: RateLimitClient, name: string): Promise<number> {
  let passed = 0;
  for (let i = 0; i < LIMIT; i++) if (await passes(client, name)) passed++;
  return passed;
}

async function until(moment: number): Promise<void> {
  while (Date.now() < moment) await sleep(moment - Date.now());
}
