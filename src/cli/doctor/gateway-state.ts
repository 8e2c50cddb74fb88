import { bodyOf } from './ports.ts';

const TIMEOUT_MS = 5_000;

export type GatewayState = NonNullable<Awaited<ReturnType<typeof gatewayState>>>;

/** `opsUrl` is without a path. Resolves to undefined if no gateway answers there. */
export async function gatewayState(opsUrl: string) {
  // Metrics need no token.
  const samples = samplesIn((await bodyOf(`${opsUrl}/metrics`, { withinMs: TIMEOUT_MS })) ?? '');
  const named = (name: string) => samples.filter((sample) => sample.name === `headgate_${name}`);
  const labels = (name: string, label: string) =>
    named(name).flatMap((sample) => sample.labels.get(label) ?? []);
  const count = (name: string, labels: Labels = {}) =>
    named(name).reduce((sum, sample) => (has(sample, labels) ? sum + sample.value : sum), 0);
  const byPolicy = (name: string) =>
    new Map(labels(name, 'policy').map((policy) => [policy, count(name, { policy })]));
  if (named('config_info').length === 0) return undefined;
  const loaded = named('config_last_success_timestamp_seconds').at(-1)?.value;
  return {
    /** There are several while workers reload. */
    digests: labels('config_info', 'sha256'),
    /** Milliseconds since the epoch. */
    loadedMs: loaded === undefined ? undefined : loaded * 1_000,
    /** The gateway refused a newer version of the files, because it has mistakes. */
    hasRefused: named('config_last_reload_successful').some(({ value }) => value === 0),
    checks: count('decisions_total'),
    denied: count('decisions_total', { verdict: 'deny' }),
    /** Counts checks from proxies outside `identity.trusted_proxies`. */
    untrusted: count('untrusted_proxy_requests_total'),
    /** Counts requests of clients whose plan no policy has. */
    unknownPlans: count('plan_total', { plan: 'unknown' }),
    /** Counts checks without the proxy secret. */
    refused: count('strangers_refused_total'),
    /** Of policies that charge afterwards. */
    outcomes: {
      /** By policy, requests that reserved, and outcomes that were reported. */
      reservations: byPolicy('reservations_total'),
      settlements: byPolicy('settlements_total'),
      /** By which an outcome was ever reported. */
      channels: new Set(
        named('settlements_total')
          .filter((sample) => !has(sample, REFUSED))
          .flatMap((sample) => sample.labels.get('channel') ?? []),
      ),
      /** Reports without the secret. */
      refusedReports: count('settlements_total', REFUSED),
      /** Reports with a token that no key of the gateway has signed, or that was cut. */
      unknownTokens: UNKNOWN_TOKENS.reduce((sum, is) => sum + count('settlements_total', is), 0),
    },
    /** Names of the headers that the policy file needs and some request had since it was loaded. */
    seenHeaders: new Set(labels('header_seen', 'header')),
  };
}

type Labels = Readonly<Record<string, string>>;

const REFUSED = { result: 'refused' };
const UNKNOWN_TOKENS = [{ result: 'forged' }, { result: 'malformed' }];

function has({ labels }: ReturnType<typeof samplesIn>[number], wanted: Labels): boolean {
  return Object.entries(wanted).every(([label, value]) => labels.get(label) === value);
}

/** `headgate_header_seen{dialect="nginx",header="x-api-key"} 1` */
function samplesIn(text: string) {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^(headgate_\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)];
    const ofSample = new Map(pairs.map(([, label = '', is = '']) => [label, is]));
    return [{ name, labels: ofSample, value: Number(value) }];
  });
}
