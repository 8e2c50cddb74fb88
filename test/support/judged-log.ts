/** Decides a synthetic log with suggested limits, by the code that decides in a gateway, and sums up the verdicts by actor. */
import { createSecretKey } from 'node:crypto';
import { createLogRequests } from '../../src/cli/evidence/log-request.ts';
import { draftPolicyFile, writePolicyFile } from '../../src/cli/evidence/suggest/policy-file.ts';
import type { Suggestions } from '../../src/cli/evidence/suggest/suggest.ts';
import { dayOf } from '../../src/cli/evidence/suggest/windows.ts';
import { createCheck, UNOBSERVED } from '../../src/gateway/core/check.ts';
import { NO_OVERRIDES } from '../../src/gateway/core/overrides.ts';
import { MemoryStore } from '../../src/gateway/stores/memory/memory-store.ts';
import { policySetFrom } from './policies.ts';
import type { SyntheticRequest } from './synthetic-log.ts';

/** The policy file that `suggest` writes, with its limits enforced. */
export function enforcedFile(suggestions: Suggestions): string {
  const draft = draftPolicyFile(suggestions.routes, undefined);
  const written = writePolicyFile(draft, suggestions, { capacity: undefined, notes: [] });
  return written.replaceAll('mode: shadow', 'mode: enforce');
}

export interface Verdicts {
  requests: number;
  denied: number;
  firstMs: number | undefined;
  firstDeniedMs: number | undefined;
  readonly clientDays: Set<string>;
  readonly deniedDays: Set<string>;
}

/** By actor. */
export function judge(
  policyFile: string,
  requests: readonly SyntheticRequest[],
): Map<string, Verdicts> {
  const policies = policySetFrom(policyFile);
  const requestOf = createLogRequests(policies, []);
  const key = createSecretKey(Buffer.alloc(32));
  const salts = {
    kept: key,
    daily: { startMs: 0, current: key, previous: undefined },
    long: undefined,
  };
  let nowMs = 0;
  const store = new MemoryStore({ now: () => nowMs, maxKeys: 1_000_000 });
  const check = createCheck({
    ...{ store, local: store, salts: { at: () => salts }, observer: UNOBSERVED, newId: () => '' },
    overrides: { current: NO_OVERRIDES },
  });
  const byActor = new Map<string, Verdicts>();
  for (const { actor, entry } of requests) {
    nowMs = entry.startMs;
    const request = requestOf(entry);
    const decision = request && check(request, policies, nowMs);
    if (decision === undefined || decision instanceof Promise) throw new Error('not decided');
    note(verdictsOf(actor, byActor), entry, decision.verdict === 'deny');
  }
  return byActor;
}

export function verdictsOf(actor: string, byActor: Map<string, Verdicts>): Verdicts {
  const known = byActor.get(actor) ?? {
    ...{ requests: 0, denied: 0, firstMs: undefined, firstDeniedMs: undefined },
    ...{ clientDays: new Set<string>(), deniedDays: new Set<string>() },
  };
  byActor.set(actor, known);
  return known;
}

function note(verdicts: Verdicts, entry: SyntheticRequest['entry'], isDenied: boolean): void {
  const clientDay = `${entry.address} ${dayOf(entry.startMs)}`;
  verdicts.requests++;
  verdicts.firstMs ??= entry.startMs;
  verdicts.clientDays.add(clientDay);
  if (!isDenied) return;
  verdicts.denied++;
  verdicts.firstDeniedMs ??= entry.startMs;
  verdicts.deniedDays.add(clientDay);
}
