/** JSON Web Tokens of an issuer that the test makes up (RFC 7519), signed with RS256 (RFC 7518). */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

export interface TokenIssuer {
  /** The key set with the public key, as JSON. */
  readonly jwks: string;
  readonly issuer: string;
  /** A text is the JSON of all claims, as it is. */
  token(claims: object | string): string;
}

const ISSUER = 'https://issuer.example.com';

export function tokenIssuer(): TokenIssuer {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const key = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' };
  return {
    jwks: JSON.stringify({ keys: [key] }),
    issuer: ISSUER,
    token: (claims) =>
      signed(
        typeof claims === 'string' ? claims : JSON.stringify({ iss: ISSUER, ...claims }),
        privateKey,
      ),
  };
}

function signed(claims: string, key: KeyObject): string {
  const encode = (json: string) => Buffer.from(json).toString('base64url');
  const content = `${encode(JSON.stringify({ alg: 'RS256', kid: 'one' }))}.${encode(claims)}`;
  return `${content}.${sign('sha256', Buffer.from(content), key).toString('base64url')}`;
}
