/** Writes a limit as a policy file has it. */
import type { ImportedLimit } from './imported-limit.ts';
import { rateText } from './rates.ts';

/** `per` is undefined for every client. */
export function limitText(
  { rate, burst }: Pick<ImportedLimit, 'rate' | 'burst'>,
  per: string | undefined,
): string {
  const parts = [
    ...(per === undefined ? [] : [`per: ${per.includes(':') ? JSON.stringify(per) : per}`]),
    ...(burst === undefined ? [] : ['algorithm: token-bucket', `burst: ${burst}`]),
  ];
  return parts.length === 0 ? rateText(rate) : `{ rate: ${rateText(rate)}, ${parts.join(', ')} }`;
}

/** For findings: what a policy for other requests would have. */
export function suggestedLimit(limit: ImportedLimit): string {
  return `limits: [${limitText(limit, limit.per === 'ip' || limit.per === 'client' ? undefined : limit.per)}]`;
}
