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
  const decisions = named('decisions_total');
  if (named('config_info').length === 0) return undefined;
  const loaded = named('config_last_success_timestamp_seconds').at(-1)?.value;
  return {
    /** There are several while workers reload. */
    digests: labels('config_info', 'sha256'),
    /** Milliseconds since the epoch. */
    loadedMs: loaded === undefined ? undefined : loaded * 1_000,
    /** The gateway refused a newer version of the files, because it has mistakes. */
    hasRefused: named('config_last_reload_successful').some(({ value }) => value === 0),
    checks: sum(decisions),
    denied: sum(decisions.filter((sample) => sample.labels.get('verdict') === 'deny')),
    /** Counts checks from proxies outside `identity.trusted_proxies`. */
    untrusted: sum(named('untrusted_proxy_requests_total')),
    /** Counts checks without the proxy secret. */
    refused: sum(named('strangers_refused_total')),
    outcomes: outcomesIn(named('reservations_total'), named('settlements_total')),
    /** Names of the headers that the policy file needs and some request had since it was loaded. */
    seenHeaders: new Set(labels('header_seen', 'header')),
  };
}

/** Of policies that charge afterwards. */
function outcomesIn(reservations: readonly Sample[], settlements: readonly Sample[]) {
  return {
    /** By policy, requests that reserved, and outcomes that were reported. */
    reservations: byPolicy(reservations),
    settlements: byPolicy(settlements),
    /** By which an outcome was ever reported. */
    channels: new Set(
      settlements.flatMap(({ labels }) => (isRefused(labels) ? [] : labels.get('channel'))),
    ),
    /** Reports without the secret. */
    refusedReports: sum(settlements.filter(({ labels }) => isRefused(labels))),
    /** Reports with a token that no key of the gateway has signed, or that was cut. */
    unknownTokens: sum(
      settlements.filter(({ labels }) => UNKNOWN_TOKENS.has(labels.get('result') ?? '')),
    ),
  };
}

const isRefused = (labels: Sample['labels']) => labels.get('result') === 'refused';

function sum(samples: readonly Sample[]): number {
  return samples.reduce((total, { value }) => total + value, 0);
}

const UNKNOWN_TOKENS: ReadonlySet<string> = new Set(['forged', 'malformed']);

function byPolicy(samples: readonly Sample[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { labels, value } of samples) {
    const policy = labels.get('policy') ?? '';
    counts.set(policy, (counts.get(policy) ?? 0) + value);
  }
  return counts;
}

type Sample = ReturnType<typeof samplesIn>[number];

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
