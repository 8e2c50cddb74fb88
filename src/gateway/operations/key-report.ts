/** Keys of the store as operators see them, and what operators should know about them. */
import { hint } from '../config/closest-word.ts';
import { isoTime } from '../denials/iso-time.ts';
import { type KeyRecord, type StoredKeys, sha256Of } from '../keys/stored-keys.ts';
import { OperationError } from './operation-error.ts';
import type { Gateway } from './running-gateway.ts';
import type { KeyReport } from './schemas/keys.ts';
import { listText, shortTime } from './texts.ts';

/** Throws an OperationError if the policy file in force reads no keys from the store. */
export function requireStoredKeys({ keys, policies }: Gateway): StoredKeys {
  if (policies.current.naming.keysInStore) return keys;
  throw new OperationError(
    'not_possible',
    'the policy file in force reads no keys from the store: write "keys: redis" under identity.api_key, or "keys: [redis, keys.yaml]" beside a file',
  );
}

export function keyReport(record: KeyRecord, nowMs: number): KeyReport {
  const { id, plan, comment, addedMs, endsMs, isBlocked } = record;
  return {
    id,
    sha256: sha256Of(record),
    ...(plan !== undefined && { plan }),
    ...(comment !== undefined && { comment }),
    added: isoTime(addedMs),
    ...(Number.isFinite(endsMs) && { ends: isoTime(endsMs) }),
    state: endsMs <= nowMs ? 'ended' : isBlocked ? 'blocked' : 'valid',
  };
}

export function reportOf(gateway: Gateway, records: readonly KeyRecord[]) {
  const nowMs = gateway.now();
  const keys = records.map((each) => keyReport(each, nowMs));
  return { keys, warnings: warningsOf(gateway, records) };
}

type Terms = Partial<Pick<KeyRecord, 'plan' | 'comment' | 'endsMs' | 'isBlocked'>>;

/** `plan pro, no end, not blocked`: for the audit log. */
export function termsText(terms: Terms): string {
  const { plan, endsMs = Number.POSITIVE_INFINITY, isBlocked } = terms;
  const end = Number.isFinite(endsMs) ? `ends ${shortTime(isoTime(endsMs))} UTC` : 'no end';
  return [
    ...('plan' in terms ? [plan === undefined ? 'no plan' : `plan ${plan}`] : []),
    ...('endsMs' in terms ? [end] : []),
    ...(isBlocked === undefined ? [] : [isBlocked ? 'blocked' : 'not blocked']),
    ...('comment' in terms ? [JSON.stringify(terms.comment ?? '')] : []),
  ].join(', ');
}

export function warningsOf(gateway: Gateway, keys: readonly KeyRecord[]): string[] {
  return [
    ...planWarnings(gateway, new Set(keys.flatMap(({ plan }) => plan ?? []))),
    ...placeWarnings(gateway, keys),
  ];
}

/** About where the keys are kept and listed. */
export function placeWarnings(gateway: Gateway, keys: readonly KeyRecord[]): string[] {
  const { naming } = gateway.policies.current;
  const ids = new Set(keys.map(({ id }) => id));
  const inFile = new Set(naming.apiKeys.map(({ id }) => id).filter((id) => ids.has(id)));
  return [
    ...(inFile.size > 0
      ? [
          `the policy file lists keys of ${listText([...inFile])} too: those keep the plan of the file`,
        ]
      : []),
    ...(gateway.status.storeKind === 'memory'
      ? ['this gateway has no Redis: the keys are lost when it ends']
      : []),
  ];
}

/** What is odd about keys that are taken nevertheless. */
export function doubtsOf(gateway: Gateway): (record: KeyRecord) => string[] {
  const ofPlans = new Map<string | undefined, string[]>([[undefined, []]]);
  const nowMs = gateway.now();
  return ({ plan, endsMs }) => {
    const ofPlan = ofPlans.get(plan) ?? planWarnings(gateway, new Set([plan as string]));
    ofPlans.set(plan, ofPlan);
    return endsMs <= nowMs ? [...ofPlan, ENDED] : ofPlan;
  };
}

const ENDED = 'the end has passed, so such a key counts as unlisted';

function planWarnings({ policies }: Gateway, used: ReadonlySet<string>): string[] {
  const known = new Set(policies.current.policies.flatMap(({ plans }) => [...plans.keys()]));
  const [first, ...others] = [...used].filter((plan) => !known.has(plan));
  if (first === undefined) return [];
  const names = known.size === 0 ? 'none has a plan' : `the plans are ${listText([...known], 20)}`;
  const more = others.length === 0 ? '' : `, nor ${listText(others)}`;
  return [
    `no policy has the plan "${first}"${hint(first, [...known])}${more}; until one has, the ordinary limits apply; ${names}`,
  ];
}
