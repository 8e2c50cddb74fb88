import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clientOf, readRecord, recordText } from '../../../../src/gateway/keys/key-record.ts';
import type { KeyRecord } from '../../../../src/gateway/keys/stored-keys.ts';
import { digestOf, keyRecord } from '../../../support/keys.ts';
import { NOON_MS } from '../../../support/requests.ts';

const printable = (least: number, most: number) =>
  fc
    .string({ minLength: least, maxLength: most, unit: 'binary' })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: These are what records do not have.
    .filter((text) => !/[\0-\x1f\x7f-\x9f]/.test(text) && text.length <= most);
const moment = fc.nat({ max: Date.UTC(9999, 0) });

const records: fc.Arbitrary<KeyRecord> = fc
  .record({
    id: printable(1, 64),
    key: fc.string(),
    plan: fc.option(fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,63}$/), { nil: undefined }),
    isBlocked: fc.boolean(),
    endsMs: fc.oneof(moment, fc.constant(Number.POSITIVE_INFINITY)),
    comment: fc.option(printable(0, 200), { nil: undefined }),
    addedMs: moment,
  })
  .map(({ id, ...more }) => keyRecord(id, more));

test('a record is read as it was written, whatever its fields are', () => {
  fc.assert(
    fc.property(records, ({ digest, ...fields }) => {
      const { key: _none, ...record } = { key: '', digest, ...fields };
      const { digest: own, ...read } = readRecord(digest, recordText(record)) ?? { digest: '' };
      expect({ own, ...read }).toEqual({ own: digest, ...fields });
    }),
  );
});

test('what is as usual takes no bytes', () => {
  expect(recordText(keyRecord('acme'))).toBe(`{"id":"acme","plan":"free","added":${NOON_MS}}`);
});

test('fields of a newer version are ignored', () => {
  const text = '{"id":"acme","added":5,"colour":"red","quota":{"day":1}}';
  expect(readRecord('d', text)).toEqual({
    digest: 'd',
    ...clientOf('acme'),
    plan: undefined,
    endsMs: Number.POSITIVE_INFINITY,
    isBlocked: false,
    comment: undefined,
    addedMs: 5,
  });
});

test.each([
  '',
  'acme',
  '{',
  'null',
  '[]',
  '"acme"',
  '{}',
  '{"id":"acme"}',
  '{"id":"","added":5}',
  '{"id":7,"added":5}',
  '{"id":"a\\u001bb","added":5}',
  '{"id":"a\\u0000b","added":5}',
  `{"id":"${'a'.repeat(65)}","added":5}`,
  '{"id":"acme","added":"5"}',
  '{"id":"acme","added":-1}',
  '{"id":"acme","added":0.5}',
  '{"id":"acme","added":1e300}',
  '{"id":"acme","added":null}',
  '{"id":"acme","added":5,"plan":7}',
  '{"id":"acme","added":5,"plan":null}',
  `{"id":"acme","added":5,"plan":"${'a'.repeat(65)}"}`,
  '{"id":"acme","added":5,"ends":"never"}',
  '{"id":"acme","added":5,"ends":null}',
  '{"id":"acme","added":5,"blocked":1}',
  '{"id":"acme","added":5,"comment":"a\\nb"}',
  `{"id":"acme","added":5,"comment":"${'a'.repeat(201)}"}`,
  `{"id":"acme","added":5,"x":"${'a'.repeat(4_096)}"}`,
])('no gateway writes %s', (text) => {
  expect(readRecord('d', text)).toBeUndefined();
});

test('a record that another program wrote is read or refused, and never throws', () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
      const record = readRecord(digestOf('a'), text);
      if (record !== undefined)
        expect(readRecord(record.digest, recordText(record))).toEqual(record);
    }),
  );
});
