/** Reports that must not change a count: forged, cut, of another gateway, malformed. */
import { call } from '../../support/http.ts';
import type { Lab } from './lab.ts';

const TOO_MUCH = 2 ** 53;

/** Sends them to any gateway, and complains of those that are not refused. Resolves to their number. */
export async function wrongReports(
  { gateways, foreign, agent }: Lab,
  token: string,
  complain: (what: string) => void,
): Promise<number> {
  const gateway = gateways[Math.floor(Math.random() * gateways.length)] ?? foreign;
  const settle = async (body: object) => {
    const answer = await call(gateway.url, '/settle', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      agent,
    });
    return JSON.parse(answer.body) as { result?: string; error?: string };
  };
  const other = await call(foreign.url, '/envoy/long', { headers: { 'x-api-key': 'any' }, agent });
  const place = 1 + Math.floor(Math.random() * (token.length - 1));
  const digit = token.charAt(place) === 'A' ? 'B' : 'A';
  const changed = token.slice(0, place) + digit + token.slice(place + 1);
  const cut = token.slice(0, Math.floor(Math.random() * token.length));
  const units = { tokens: 0, pages: 0 };
  const tries: readonly [object, RegExp][] = [
    [{ token: changed, units }, /^forged$/],
    [{ token: cut, units }, /^(malformed|forged|bad_request)$/],
    [{ token: String(other.headers['x-headgate-settle']), units }, /^forged$/],
    [{ token, units: { tokens: TOO_MUCH } }, /^bad_request$/],
    [{ token, units: { tokens: -1 } }, /^bad_request$/],
    [{ token: `${token}A`, units }, /^(malformed|forged)$/],
  ];
  for (const [body, expected] of tries) {
    const { result, error } = await settle(body);
    const said = result ?? error ?? '';
    if (!expected.test(said)) complain(`a wrong report was answered ${said}`);
  }
  return tries.length;
}
