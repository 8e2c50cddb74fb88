import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readCheckRequest } from '../../../../../src/gateway/dialects/messages/ext-authz.ts';
import {
  messageField,
  numberField,
  textField,
} from '../../../../../src/gateway/protobuf/writer.ts';
import { checkRequestBytes, envoyCheckRequest } from '../../../../support/grpc-client.ts';

const NAMESPACE = 'envoy.ai.request_info';
const TYPE_URL = 'type.googleapis.com/envoy.data.ai.v3.RequestInfo';

const wrapped = (value: number) => numberField(1, value);
const info = (output: number, input: number) =>
  textField(2, 'a-model') + messageField(4, wrapped(output)) + messageField(7, wrapped(input));
const any = (value: string, typeUrl = TYPE_URL) => textField(1, typeUrl) + messageField(2, value);
const typedEntry = (value: string, namespace = NAMESPACE) =>
  messageField(2, textField(1, namespace) + messageField(2, value));

/** A check as Envoy sends it, with a field 11 of its attributes. */
function read(metadata: string) {
  const rest = checkRequestBytes(envoyCheckRequest({ path: '/chat' }));
  const attributes = Buffer.from(messageField(1, messageField(11, metadata)), 'latin1');
  return readCheckRequest(Buffer.concat([rest, attributes]));
}

const estimateIn = (metadata: string) => read(metadata).estimates?.get(NAMESPACE);

test('the estimated input and the largest output are added up', () => {
  expect(read(typedEntry(any(info(800, 12))))).toMatchObject({
    path: '/chat',
    method: 'GET',
    estimates: new Map([[NAMESPACE, 812]]),
  });
});

test('the fields of an entry may come in another order', () => {
  const value = messageField(2, info(800, 12)) + textField(1, TYPE_URL);
  expect(estimateIn(messageField(2, messageField(2, value) + textField(1, NAMESPACE)))).toBe(812);
});

describe('nothing is estimated', () => {
  test('without metadata', () => {
    const bytes = checkRequestBytes(envoyCheckRequest());
    expect(readCheckRequest(bytes).estimates).toBeUndefined();
  });
  test.each([
    [
      'by untyped metadata',
      messageField(1, textField(1, NAMESPACE) + messageField(2, any(info(1, 1)))),
    ],
    ['by another namespace', typedEntry(any(info(800, 12)), 'envoy.ai.other')],
    ['by another type', typedEntry(any(info(800, 12), `${TYPE_URL}s`))],
    ['without a type', typedEntry(messageField(2, info(800, 12)))],
    ['without a value', typedEntry(textField(1, TYPE_URL))],
    ['by an empty entry', messageField(2, '')],
    ['without the largest output', typedEntry(any(messageField(7, wrapped(12))))],
    ['without the input', typedEntry(any(messageField(4, wrapped(800))))],
    ['by numbers that are no wrappers', typedEntry(any(numberField(4, 1) + numberField(7, 1)))],
    ['by a message that ends too early', typedEntry(any(info(800, 12).slice(0, -1)))],
    ['by bytes that are no message', typedEntry(any('\xff\xff\xff\xff'))],
    ['if the last of two entries is bad', typedEntry(any(info(1, 1))) + typedEntry(any(''))],
  ])('%s', (_, metadata) => {
    expect(read(metadata)).toMatchObject({ path: '/chat', estimates: undefined });
  });
});

describe('hostile numbers', () => {
  const largest = '\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01';
  test.each([
    ['0, which protobuf leaves out', messageField(4, '') + messageField(7, ''), 0],
    [
      'the largest of 64 bits',
      messageField(4, largest) + messageField(7, largest),
      2 * (2 ** 53 - 1),
    ],
    ['repeated: the last one counts', info(9, 9) + info(1, 2), 3],
  ])('%s', (_, value, expected) => {
    expect(estimateIn(typedEntry(any(value)))).toBe(expected);
  });
});

test('metadata of other filters is skipped, however much it is', () => {
  const large = 'x'.repeat(100_000);
  const many = Array.from({ length: 1_000 }, (_, i) =>
    typedEntry(any(large.slice(0, 100)), `n${i}`),
  );
  const untyped = messageField(1, textField(1, 'a') + messageField(2, large));
  const metadata =
    untyped + many.join('') + typedEntry(any(info(800, 12))) + typedEntry(large, large);
  expect(estimateIn(metadata)).toBe(812);
});

test('no bytes in place of the metadata change what else is read', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      const check = read(typedEntry(any(Buffer.from(bytes).toString('latin1'))));
      expect(check).toMatchObject({ path: '/chat', method: 'GET', host: 'api.example.com' });
      const estimate = check.estimates?.get(NAMESPACE) ?? 0;
      expect(estimate).toBeGreaterThanOrEqual(0);
    }),
  );
});
