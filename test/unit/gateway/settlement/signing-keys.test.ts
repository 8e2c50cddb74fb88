import { createSecretKey, type KeyObject } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  derivedKeys,
  listedKeys,
  type SigningKeys,
} from '../../../../src/gateway/settlement/signing-keys.ts';
import { openToken, sealToken } from '../../../../src/gateway/settlement/token.ts';
import { NOON_MS } from '../../../support/requests.ts';
import { ALICE } from '../../../support/settling.ts';

const [OLD, NEW] = [
  'the old key with at least 32 characters',
  'the new key with at least 32 characters',
];
const PART = { name: 'limit000AA', partition: ALICE, units: 1, momentMs: NOON_MS };
const seal = (keys: SigningKeys) =>
  sealToken(
    { endsMs: NOON_MS + 1_000, gateway: 'abcdefgh', serial: 1, mode: 'enforced', parts: [PART] },
    keys,
  );
const isOpened = (token: string, keys: SigningKeys) => typeof openToken(token, keys) !== 'string';

test('the first key signs, and both verify', () => {
  const [before, during, after] = [listedKeys([OLD]), listedKeys([NEW, OLD]), listedKeys([NEW])];
  expect(isOpened(seal(before), during)).toBe(true);
  expect(isOpened(seal(during), during)).toBe(true);
  expect(isOpened(seal(during), after)).toBe(true);
  expect(openToken(seal(before), after)).toBe('forged');
  expect(openToken(seal(during), before)).toBe('forged');
});

test('a setting without a key is refused', () => {
  expect(() => listedKeys([])).toThrow(RangeError);
});

test('gateways that keep the same secret settle the tokens of each other', () => {
  const secret = createSecretKey(Buffer.alloc(32, 1));
  const keys = () => derivedKeys(() => createSecretKey(secret.export()));
  expect(isOpened(seal(keys()), keys())).toBe(true);
  expect(openToken(seal(derivedKeys(() => createSecretKey(Buffer.alloc(32, 2)))), keys())).toBe(
    'forged',
  );
});

test('once gateways have agreed on a secret, tokens from before are still settled here', () => {
  const secretOf = (byte: number) => createSecretKey(Buffer.alloc(32, byte));
  let secret: KeyObject = secretOf(1);
  const keys = derivedKeys(() => secret);
  const before = seal(keys);
  secret = secretOf(2);
  const after = seal(keys);
  expect([isOpened(before, keys), isOpened(after, keys)]).toEqual([true, true]);
  expect(
    isOpened(
      after,
      derivedKeys(() => secretOf(2)),
    ),
  ).toBe(true);
  secret = secretOf(3);
  expect(openToken(before, keys)).toBe('forged');
});

test('a key does not tell the secret', () => {
  const secret = createSecretKey(Buffer.alloc(32, 7));
  expect(
    derivedKeys(() => secret)
      .current()
      .key.export(),
  ).not.toEqual(secret.export());
});
