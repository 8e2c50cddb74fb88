import { bodyOf } from './ports.ts';

const TIMEOUT_MS = 5_000;

export interface GatewayState {
  /** There are several while workers reload. */
  readonly digests: readonly string[];
  /** Milliseconds since the epoch. */
  readonly loadedMs: number | undefined;
  /** The gateway refused a newer version of the files, because it has mistakes. */
  readonly hasRefused: boolean;
  readonly checks: number;
  readonly denied: number;
  /** Counts checks from proxies outside `identity.trusted_proxies`. */
  readonly untrusted: number;
  /** Counts checks without the proxy secret. */
  readonly refused: number;
  /** Names of the headers that the policy file needs and some request had since it was loaded. */
  readonly seenHeaders: ReadonlySet<string>;
}

/** `opsUrl` is without a path. Resolves to undefined if no gateway answers there. */
export async function gatewayState(opsUrl: string): Promise<GatewayState | undefined> {
  // Metrics need no token.
  const samples = samplesIn((await bodyOf(`${opsUrl}/metrics`, { withinMs: TIMEOUT_MS })) ?? '');
  const named = (name: string) => samples.filter((sample) => sample.name === `headgate_${name}`);
  const sum = (of: readonly Sample[]) => of.reduce((total, { value }) => total + value, 0);
  const labels = (name: string, label: string) =>
    named(name).flatMap((sample) => sample.labels.get(label) ?? []);
  const decisions = named('decisions_total');
  if (named('config_info').length === 0) return undefined;
  const loaded = named('config_last_success_timestamp_seconds').at(-1)?.value;
  return {
    digests: labels('config_info', 'sha256'),
    loadedMs: loaded === undefined ? undefined : loaded * 1_000,
    hasRefused: named('config_last_reload_successful').some(({ value }) => value === 0),
    checks: sum(decisions),
    denied: sum(decisions.filter((sample) => sample.labels.get('verdict') === 'deny')),
    untrusted: sum(named('untrusted_proxy_requests_total')),
    refused: sum(named('strangers_refused_total')),
    seenHeaders: new Set(labels('header_seen', 'header')),
  };
}

interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

/** `headgate_header_seen{dialect="nginx",header="x-api-key"} 1` */
function samplesIn(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^(headgate_\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)];
    const ofSample = new Map(pairs.map(([, label = '', is = '']) => [label, is]));
    return [{ name, labels: ofSample, value: Number(value) }];
  });
}
