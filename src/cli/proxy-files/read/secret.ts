/** Compares the secret that the file of a proxy sends with that of the gateway. */
import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { found } from './catalog.ts';
import type { Comparison } from './compare.ts';
import { FROM_ENVIRONMENT, type ProxyFacts } from './reader.ts';

export interface SecretComparison {
  readonly findings: readonly Diagnostic[];
  /** False if the secret of the gateway is not known, and no gateway answers. */
  readonly isCompared: boolean;
}

const FITS: SecretComparison = { findings: [], isCompared: true };

export async function compareSecret(
  facts: ProxyFacts,
  input: Comparison,
): Promise<SecretComparison> {
  const { secret } = facts;
  const { proxySecrets } = input.settings;
  if (secret === FROM_ENVIRONMENT) return FITS;
  const differs = (problem: string): SecretComparison => ({
    findings: [found('secret-not-sent', secretPlace(facts, input), problem)],
    isCompared: true,
  });
  if (proxySecrets.length > 0) {
    if (secret === undefined) return differs('no secret is sent');
    const isSame = proxySecrets.includes(secret);
    return isSame ? FITS : differs('the secret is not that of HEADGATE_PROXY_SECRET');
  }
  // This environment may not be that of the gateway.
  const isAccepted = await input.isAccepted(secret);
  if (isAccepted === false) {
    const problem = secret === undefined ? 'no secret is sent' : 'this is another secret';
    return differs(`${problem}, and the running gateway refuses such checks`);
  }
  return { findings: [], isCompared: secret === undefined || isAccepted !== undefined };
}

/** The line with the secret, otherwise the one with the check. */
function secretPlace(
  { proxy, place, secretPlace }: ProxyFacts,
  { file, text }: Comparison,
): string {
  if (secretPlace !== undefined) return secretPlace;
  // The text of a Caddyfile has others in it.
  if (place !== undefined || proxy === 'caddy') return place ?? file;
  const line = text.split('\n').findIndex((each) => SECRET_LINE.test(each));
  return line === -1 ? file : `${file}:${line + 1}`;
}

/** Outside of comments. */
const SECRET_LINE = /^(?!\s*#).*(x-headgate-secret|headgate_secret\b)/i;
