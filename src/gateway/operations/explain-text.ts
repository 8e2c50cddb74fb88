/** Words the trace of a check for people: `explain` answers these sentences in the command line and in the ops API. */
import type {
  AddressHeaderEvent,
  ForwardedEntryEvent,
  ForwardedListIgnoredEvent,
  IdentitySourceEvent,
  PathEvent,
  PlanEvent,
  PolicyEvent,
  PolicyReason,
  QuotaEvent,
  TraceEvent,
} from '../core/trace.ts';

type Subject = 'proxy' | 'address' | 'identity' | 'path' | 'call' | 'policy' | 'limit';

export interface Step {
  readonly about: Subject;
  readonly what: string;
}

type Words = {
  readonly [Type in TraceEvent['type']]: readonly [
    about: Subject,
    sentencesOf: (event: Extract<TraceEvent, { type: Type }>) => readonly string[],
  ];
};

/** What needs the time or the overrides is worded in `explain-client.ts`. */
const WORDS: Words = {
  proxy: ['proxy', (event) => [proxyText(event)]],
  'reported-address': ['address', ({ address = 'no address' }) => [`the proxy reports ${address}`]],
  'forwarded-list-ignored': ['address', (event) => [ignoredListText(event)]],
  'forwarded-entry': ['address', (event) => [entryText(event)]],
  'address-header': ['address', (event) => [addressHeaderText(event)]],
  'client-address': [
    'address',
    ({ address, proxy }) => [`client address: ${address ?? `${proxy}, the proxy's own`}`],
  ],
  'identity-source': ['identity', (event) => [sourceText(event)]],
  plan: ['identity', (event) => [planText(event)]],
  'keys-not-looked-up': [
    'identity',
    () => ['keys in Redis are not looked up here: the key counts as unlisted'],
  ],
  'key-unread': [
    'identity',
    () => [
      'the key could not be looked up: Redis did not answer, or the address has sent too many unknown keys',
    ],
  ],
  'key-ended': ['identity', () => []],
  access: ['identity', () => []],
  'client-names': ['identity', () => []],
  'ambiguous-header': [
    'identity',
    ({ header }) => [`${header} can be read in several ways: the request is denied`],
  ],
  path: ['path', pathTexts],
  'path-unknown': [
    'policy',
    ({ policy }) => [`unknown path: the strictest policy applies, ${policy}`],
  ],
  'mcp-call': ['call', ({ what }) => [what]],
  policy: ['policy', (event) => [policyText(event)]],
  limit: [
    'limit',
    ({ label, description, per, key }) => [
      `${label}: ${description}, per ${per}; counted as ${key}`,
    ],
  ],
  quota: ['limit', (event) => [quotaText(event)]],
};

/** One step for each sentence; most events have one. */
export function stepsOf<Event extends TraceEvent>(event: Event): Step[] {
  const [about, sentencesOf] = WORDS[event.type] as unknown as [
    Subject,
    (event: Event) => string[],
  ];
  return sentencesOf(event).map((what) => ({ about, what }));
}

function proxyText({ address, trustedBy }: TraceEvent & { type: 'proxy' }): string {
  return trustedBy === undefined
    ? `${address} is not in identity.trusted_proxies: its client addresses and users are ignored`
    : `${address} is a trusted proxy: ${trustedBy}`;
}

function ignoredListText({ header, reason, reported }: ForwardedListIgnoredEvent): string {
  switch (reason) {
    case 'no-reported-address':
      return `${header} is ignored: the proxy must report the address that connected to it`;
    case 'loopback':
      return `${header} is ignored: ${reported} is on the machine of the proxy`;
    case 'untrusted':
      return `${header} is ignored: ${reported} is not a trusted proxy`;
  }
}

function entryText({ header, entry, address, writtenBy }: ForwardedEntryEvent): string {
  return address === undefined
    ? `${header}: "${entry}" is not an address; entries before it are ignored`
    : `${header}: the trusted proxy ${writtenBy} reports ${address}`;
}

function addressHeaderText({ header, result }: AddressHeaderEvent): string {
  switch (result.status) {
    case 'absent':
      return `${header} was not sent`;
    case 'set-by-proxy':
      return `${header} is used: the proxy sets it`;
    case 'set-by-network':
      return `${header} is used: ${result.address} is in ${result.range}`;
    case 'not-one-address':
      return `${header} is ignored: it is not one address`;
    case 'not-allowed':
      return result.peer === undefined
        ? `${header} is ignored: the proxy does not report which address connected to it`
        : `${header} is ignored: ${result.peer} connected to the proxy and is not in the networks that may set it`;
  }
}

function sourceText({ source, result, isUnverified }: IdentitySourceEvent): string {
  switch (result) {
    case 'used':
      return isUnverified
        ? `${source} identifies the client; the key counts as unlisted, so the address is charged too`
        : `${source} identifies the client`;
    case 'outranked':
      return `${source} is not used: an earlier source identifies the client`;
    case 'absent':
      return `no ${source === 'api_key' ? 'API key' : source} was sent, or it was not accepted`;
  }
}

const IGNORED: Readonly<Record<NonNullable<PlanEvent['ignored']>, string>> = {
  'untrusted-proxy': 'the proxy is not in identity.trusted_proxies',
  'unknown-client': 'the client has no listed key, no user and no verified header',
  outranked: 'the plan of the key comes first',
};

function planText({ plan, from, ignored }: PlanEvent): string {
  const source = typeof from === 'object' ? vouchedText(from) : `the ${from}`;
  if (plan === undefined) return `${source} names no plan`;
  const why = ignored === undefined ? '' : `, which is ignored: ${IGNORED[ignored]}`;
  return `${source} names the plan ${plan}${why}`;
}

function vouchedText(from: Exclude<PlanEvent['from'], string>): string {
  return 'header' in from ? from.header : `metadata ${from.metadata}, ${from.claim.join('.')},`;
}

function pathTexts({ target, path, otherReadings, around, malformed }: PathEvent): string[] {
  if (malformed) return ['it has control characters or too many readings: the request is denied'];
  return [
    path === target ? `${path}, as sent` : `${target} is read as ${path}`,
    ...otherReadings.map((reading) => `some servers read it as ${reading}`),
    ...around.map((reading) => `it cannot be decoded, and servers may read it as ${reading}`),
  ];
}

const REASONS: Readonly<Record<PolicyReason, string>> = {
  'most-specific': 'it is the most specific match',
  'named-by-proxy': 'the proxy names it for this route',
  always: 'it applies to every request (always: true)',
  'other-reading': 'it matches another reading of the path',
  strict: 'calls without headers count for policies of tools, too (none: strict)',
  preflight: 'a preflight of a browser counts for it alone, and for policies with always: true',
  'nothing-matches': 'no other policy matches',
};

function policyText(event: PolicyEvent): string {
  const { policy, result } = event;
  switch (result.status) {
    case 'outranked':
      return `${policy} matches, but ${result.by} takes precedence`;
    case 'no-match': {
      const requirements = result.requires.map(({ part, value }) => `${part} ${value}`);
      return `${policy} does not match: it requires ${requirements.join(' and ')}`;
    }
    case 'not-needed':
      return `${policy} does not apply: another policy matches`;
    default:
      return `${policy} ${modeText(event)}: ${REASONS[result.status]}`;
  }
}

function modeText({ mode, isModeOverridden }: PolicyEvent): string {
  const by = isModeOverridden ? ' by an override' : '';
  if (mode === 'enforce') return isModeOverridden ? 'applies, enforced by an override' : 'applies';
  return mode === 'shadow' ? `applies in shadow mode${by}` : `would apply, but is off${by}`;
}

function quotaText({ label, cost, reservedUnit, isAdmitted, state }: QuotaEvent): string {
  if (state === undefined) return `${label}: not checked, because another limit denies the request`;
  const { remaining, limit, retryAfterMs } = state;
  const left = `${label}: ${remaining} of ${limit} remain`;
  if (isAdmitted) {
    const reserved = reservedUnit && `; reserved ${cost} ${reservedUnit}, not yet settled`;
    return `${left} after this request${reserved ?? ''}`;
  }
  if (retryAfterMs === 0) return left;
  const needed = cost === 1 ? '' : `, ${cost} are needed`;
  return `${left}${needed}; next request allowed in ${Math.ceil(retryAfterMs / 1000)} s`;
}
