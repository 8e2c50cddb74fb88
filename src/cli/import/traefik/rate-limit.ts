import type { Partition } from '../../../gateway/core/policy.ts';
import { approximate, type Finding, leftOut, note, REDIS_SETTING } from '../shared/finding.ts';
import { headerPartition, INVENTED } from '../shared/headers.ts';
import type { ImportedFile, ImportedLimit } from '../shared/imported-limit.ts';
import { canBeTrusted, UNTRUSTED } from '../shared/ranges.ts';
import { paceOf } from '../shared/rates.ts';
import { listed } from '../shared/texts.ts';
import type { Middleware } from './parts.ts';

export interface RateLimit
  extends Pick<ImportedFile, 'trustedProxies' | 'ipv6Prefix' | 'findings'> {
  /** Undefined if it limits nothing, or cannot be carried over. */
  readonly limit?: ImportedLimit;
  readonly isUnlimited?: boolean;
}

const UNITS_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** A duration of Go, such as 1m30s, or seconds. Undefined for other texts. */
export function durationMs(text: string): number | undefined {
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  if (!/^(\d{1,9}(\.\d{1,9})?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
  let ms = 0;
  for (const [, count, unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)) {
    ms += Number(count) * (UNITS_MS[unit] ?? 0);
  }
  return ms;
}

export function rateLimitOf(middleware: Middleware): RateLimit {
  const { options, name, place } = middleware;
  const findings: Finding[] = [];
  const numberOf = (option: string, otherwise: number) => {
    const text = options.get(option)?.text.trim() ?? '';
    return /^\d{1,15}$/.test(text) ? Number(text) : otherwise;
  };
  const average = numberOf('average', 0);
  const period = options.get('period')?.text.trim() || '1s';
  const periodMs = durationMs(period) || (Number(period) === 0 ? 1_000 : 0);
  const what = `rateLimit ${name}`;
  const { per, ...source } = sourceOf(middleware, findings);
  if (average === 0 && !/^(0*|-\d+)$/.test(options.get('average')?.text.trim() ?? '')) {
    findings.push(
      leftOut(place, what, 'its average is not a whole number. Write a limit by hand.'),
    );
    return { ...source, findings };
  }
  if (average === 0) {
    findings.push(note(place, what, 'its average is 0, so Traefik limits nothing.'));
    return { ...source, findings, isUnlimited: true };
  }
  const rate = paceOf(average, periodMs);
  if (rate === undefined) {
    const why = `${average} in ${period} is not a rate that a policy file can have: it has up to 1000000 requests in whole seconds. Write a limit by hand.`;
    findings.push(leftOut(place, what, why));
    return { ...source, findings };
  }
  if ([...options.keys()].some((option) => option.startsWith('redis.'))) {
    findings.push(note(place, what, REDIS_SETTING));
  }
  const burst = Math.max(1, numberOf('burst', 1));
  return { ...source, findings, limit: { rate, burst, per } };
}

interface RequestSource extends Pick<RateLimit, 'trustedProxies' | 'ipv6Prefix'> {
  readonly per: Partition;
}

function sourceOf({ options, name, place }: Middleware, findings: Finding[]): RequestSource {
  const option = (path: string) => options.get(`sourcecriterion.${path}`);
  const header = option('requestheadername');
  if (header !== undefined && header.text !== '') {
    const partition = headerPartition(header.text.trim());
    const why =
      partition === undefined || partition === 'ip'
        ? 'headgate does not count by this header. It counts the address of the client.'
        : `requests without the header share one bucket in Traefik, and headgate counts each of them for its address. ${INVENTED}`;
    findings.push(approximate(header.place, `requestHeaderName: ${header.text}`, why));
    return { per: partition ?? 'ip' };
  }
  const host = option('requesthost');
  if (host !== undefined && host.text.toLowerCase() === 'true') {
    const why =
      'Traefik counts each host by itself, and headgate counts all requests of the policy together. With one host per router, both are the same.';
    findings.push(approximate(host.place, 'requestHost', why));
    return { per: 'global' };
  }
  const depth = option('ipstrategy.depth');
  if (depth !== undefined && depth.text !== '0') {
    const why =
      'headgate does not count hops. Name the networks of the proxies before Traefik in identity.trusted_proxies: the client is then the last address in X-Forwarded-For that is not one of them.';
    findings.push(approximate(depth.place, `ipStrategy.depth: ${depth.text}`, why));
  }
  const excluded = option('ipstrategy.excludedips');
  const networks = listed(excluded?.text ?? '');
  const trustedProxies = networks.filter(canBeTrusted);
  if (excluded !== undefined && trustedProxies.length < networks.length) {
    findings.push(leftOut(excluded.place, `excludedIPs of ${name}`, UNTRUSTED));
  }
  const prefix = Number(option('ipstrategy.ipv6subnet')?.text ?? Number.NaN);
  const ipv6Prefix = prefix >= 32 && prefix <= 128 ? prefix : undefined;
  if (!Number.isNaN(prefix) && ipv6Prefix === undefined) {
    const why = 'identity.ip.ipv6_prefix is from 32 to 128, and 64 without it.';
    findings.push(leftOut(place, `ipv6Subnet: ${prefix}`, why));
  }
  return { per: 'ip', trustedProxies, ipv6Prefix };
}
