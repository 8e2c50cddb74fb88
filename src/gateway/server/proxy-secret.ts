/** The secret by which the gateway recognizes its proxies. */
import type { HeaderFields } from '../core/check-request.ts';
import { compileSecrets } from './secrets.ts';

export const SECRET_HEADER = 'x-headgate-secret';

export function compileSecretCheck(secrets: readonly string[]): (headers: HeaderFields) => boolean {
  if (secrets.length === 0) return () => true;
  const isOurs = compileSecrets(secrets);
  return (headers) => {
    const given = headers[SECRET_HEADER];
    return typeof given === 'string' && isOurs(given);
  };
}
