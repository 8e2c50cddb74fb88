/** Reports outcomes over both channels, and checks the answers. */
import { call } from '../../support/http.ts';
import type { Admitted, Report } from './admitted.ts';
import type { Lab } from './lab.ts';
import { LOGGED_IN, type Outcome, specOf } from './policies.ts';
import type { RedisRecord } from './redis-record.ts';

export interface Run {
  readonly lab: Lab;
  readonly record: RedisRecord;
  readonly all: Held[];
  readonly texts: Set<string>;
  readonly held: Held[];
  readonly wrong: string[];
  readonly counts: { requests: number; refused: number; reports: Record<string, number> };
  version: number;
}

export interface Held extends Admitted {
  readonly policy: string;
  readonly text: string;
}

export function any<T>(values: readonly T[]): T {
  return values[Math.floor(Math.random() * values.length)] as T;
}

export function outcomeOf(): Outcome {
  const units = { tokens: Math.floor(Math.random() * 140), pages: Math.floor(Math.random() * 6) };
  return any<Outcome>([
    { status: 200, units },
    { status: 200, units },
    { status: 200, headers: LOGGED_IN, units },
    { status: 204, units },
    { status: 401, headers: { 'x-login': 'failed' }, units },
    { units: { tokens: 0, pages: 0 } },
    // Aborted, or without usage.
    {},
    { status: 500, units: { pears: 5 } },
  ]);
}

/** `twice`: two gateways get different outcomes at the same moment. */
export async function report(
  run: Run,
  admitted: Held,
  outcome: Outcome,
  times: 'once' | 'twice',
): Promise<void> {
  const send = async (each: Outcome) => {
    const sentMs = Date.now();
    const { body } = await call(any(run.lab.gateways).url, '/settle', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: admitted.text, ...each }),
      agent: run.lab.agent,
    });
    const verdict = String(JSON.parse(body).result ?? body);
    const made: Report = { outcome: each, version: run.version, verdict };
    admitted.reports.push(made);
    run.counts.reports[verdict] = (run.counts.reports[verdict] ?? 0) + 1;
    checkVerdict(run, admitted, verdict, sentMs);
  };
  await Promise.all(times === 'once' ? [send(outcome)] : [send(outcome), send(outcomeOf())]);
}

function checkVerdict(
  run: Run,
  { token, version }: Admitted,
  verdict: string,
  sentMs: number,
): void {
  const isKnown = token.parts.some(({ digest }) => specOf(run.version, digest) !== undefined);
  const mayEnd = Date.now() >= token.endsMs;
  const allowed = [
    ...(isKnown ? ['settled', 'repeated', 'gone', 'reset'] : ['unknown_limit']),
    ...(mayEnd ? ['ended'] : []),
  ];
  if (allowed.includes(verdict) && !(verdict === 'settled' && sentMs >= token.endsMs)) return;
  run.wrong.push(`a token of version ${version} was answered ${verdict} in version ${run.version}`);
}

/** What Envoy logs, sometimes twice. */
export async function reportToLog(run: Run, admitted: Held, outcome: Outcome): Promise<void> {
  const { units, status, headers } = outcome;
  admitted.reports.push({ outcome, version: run.version, verdict: undefined });
  run.counts.reports['over ALS'] = (run.counts.reports['over ALS'] ?? 0) + 1;
  const logged = {
    token: admitted.text,
    ...(units && { units }),
    ...(headers && { headers }),
    // Without one, Envoy made the answer.
    ...(status === undefined ? { details: 'downstream_remote_disconnect' } : { status }),
  };
  const gateway = Math.floor(Math.random() * run.lab.gateways.length);
  run.lab.log(gateway, logged, ...(Math.random() < 0.2 ? [logged] : []));
}
