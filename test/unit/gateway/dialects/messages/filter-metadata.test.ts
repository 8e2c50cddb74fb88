/** What filters of Envoy say is read as protobufjs wrote it with Envoy's own definitions, and from hostile bytes safely. */
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { plainMetadata } from '../../../../../src/gateway/core/proxy-metadata.ts';
import { envoyGrpc } from '../../../../../src/gateway/dialects/envoy-grpc.ts';
import { filterMetadata } from '../../../../../src/gateway/dialects/messages/filter-metadata.ts';
import { ProtobufReader } from '../../../../../src/gateway/protobuf/reader.ts';
import {
  messageField,
  numberField,
  textField,
} from '../../../../../src/gateway/protobuf/writer.ts';
import {
  checkWithMetadata,
  type Json,
  type Namespaces,
} from '../../../../support/filter-metadata.ts';
import { checkRequestBytes, envoyCheckRequest } from '../../../../support/grpc-client.ts';

const JWT = 'envoy.filters.http.jwt_authn';
const SUBJECT = ['payload', 'sub'];

/** A text as bytes, one per character, for the writer. */
const bytesOf = (text: string) => Buffer.from(text).toString('latin1');
const text = (value: string) => messageField(3, bytesOf(value));
const whole = (value: number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return `\x11${bytes.toString('latin1')}`;
};
const entry = (name: string, value: string) =>
  messageField(1, messageField(1, bytesOf(name)) + messageField(2, value));
const struct = (fields: string) => messageField(5, fields);
const list = (...values: string[]) =>
  messageField(6, values.map((value) => messageField(1, value)).join(''));
const subject = (value: string) => entry(JWT, entry('payload', struct(entry('sub', value))));

/** The bytes of a check with this in place of `metadata_context`. */
function check(metadata: string): Buffer {
  const rest = checkRequestBytes(envoyCheckRequest({ path: '/chat' }));
  const attributes = messageField(1, messageField(11, metadata));
  return Buffer.concat([rest, Buffer.from(attributes, 'latin1')]);
}

const subjectIn = (metadata: string) => filterMetadata(check(metadata)).text(JWT, SUBJECT);

describe('a check', () => {
  test('has the claims that Envoy verified', () => {
    const claims = { sub: 'alice', plan: 'pro', realm_access: { roles: ['admin'] } };
    const request = envoyGrpc.parse(checkWithMetadata({ [JWT]: { payload: claims } }), '::1', {});
    expect(request?.metadata?.text(JWT, SUBJECT)).toBe('alice');
    expect(request?.metadata?.text(JWT, ['payload', 'plan'])).toBe('pro');
    expect(request?.metadata?.text(JWT, ['payload', 'realm_access', 'roles'])).toBe('admin');
    expect(request?.metadata?.text(JWT, ['payload', 'Sub'])).toBeUndefined();
    expect(request?.metadata?.text('envoy.filters.http.JWT_authn', SUBJECT)).toBeUndefined();
  });

  test('without metadata has none, also if Envoy sends the field empty', () => {
    expect(envoyGrpc.parse(checkWithMetadata({}), '::1', {})?.metadata).toBeUndefined();
    const bytes = checkRequestBytes(envoyCheckRequest());
    expect(envoyGrpc.parse(bytes, '::1', {})?.metadata).toBeUndefined();
  });

  test('has no metadata of the route', () => {
    const route = { filter_metadata: { [JWT]: { fields: { sub: { stringValue: 'alice' } } } } };
    const { attributes } = envoyCheckRequest();
    const bytes = checkRequestBytes({
      attributes: { ...attributes, route_metadata_context: route },
    });
    expect(envoyGrpc.parse(bytes, '::1', {})?.metadata).toBeUndefined();
  });

  test('says the same as plain objects', () => {
    fc.assert(
      fc.property(metadata, fc.array(name, { maxLength: 4 }), (namespaces, path) => {
        const read = filterMetadata(checkWithMetadata(namespaces));
        const plain = plainMetadata(namespaces);
        for (const [namespace = '', ...names] of [...pathsOf(namespaces), path]) {
          expect(read.text(namespace, names)).toBe(plain.text(namespace, names));
        }
      }),
      { numRuns: 300 },
    );
  });
});

const name = fc.oneof(
  fc.constantFrom('a', 'A', 'sub', 'payload', 'ü', 'constructor', 'toString', ''),
  fc.string({ unit: 'binary', maxLength: 40 }).filter((each) => each !== '__proto__'),
);
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.string({ maxLength: 20 }),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom('x'.repeat(1_024), 'ü'.repeat(512), 'ü'.repeat(513), '\u0000', 'a\n'),
    fc.integer(),
    fc.double(),
    fc.constantFrom(2 ** 53 - 1, 2 ** 53, -(2 ** 53), -0, 0.5, 1e300),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
}));
const metadata: fc.Arbitrary<Namespaces> = fc.dictionary(
  name,
  fc.dictionary(name, value, { maxKeys: 4 }),
  { maxKeys: 3 },
);

/** The paths to everything, and one name beyond. */
function pathsOf(found: unknown): string[][] {
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return [[], ['a']];
  const below = Object.entries(found).flatMap(([each, inner]) =>
    pathsOf(inner).map((path) => [each, ...path]),
  );
  return [[], ...below];
}

describe('a claim is', () => {
  test.each<[string, string, string | undefined]>([
    ['a text', text('alice'), 'alice'],
    ['a text in another script', text('Jürgen Ω'), 'Jürgen Ω'],
    ['a text with its blanks', text(' alice '), ' alice '],
    ['a list of one text', list(text('alice')), 'alice'],
    ['a list of one number', list(whole(7)), '7'],
    ['a whole number as digits', whole(42), '42'],
    ['the largest whole number', whole(2 ** 53 - 1), '9007199254740991'],
    ['a negative number', whole(-1), '-1'],
    ['zero without its sign', whole(-0), '0'],
    ['the longest text', text('x'.repeat(1_024)), 'x'.repeat(1_024)],
    ['the last of two values', text('alice') + text('bob'), 'bob'],
  ])('%s', (_, written, expected) => {
    expect(subjectIn(subject(written))).toBe(expected);
  });

  test.each<[string, string]>([
    ['an empty text', text('')],
    ['a longer text', text('x'.repeat(1_025))],
    ['a text that is longer as UTF-8', text('ü'.repeat(513))],
    ['a text with a control character', text('alice\u0000')],
    ['a text with a line break', text('alice\n')],
    ['a text with a control character of Latin-1', text('alice\u0085')],
    ['a text that is not UTF-8', messageField(3, 'alice\xff')],
    ['a text with half of a character', messageField(3, '\xed\xa0\x80')],
    ['a fraction', whole(0.5)],
    ['a number that is not exact', whole(2 ** 53)],
    ['not a number', whole(Number.NaN)],
    ['infinity', whole(Number.POSITIVE_INFINITY)],
    ['true', numberField(4, 1)],
    ['null', numberField(1, 0)],
    ['a struct', struct(entry('sub', text('alice')))],
    ['an empty list', list()],
    ['a list of two texts', list(text('alice'), text('bob'))],
    ['a list of a text and nothing', list(text('alice'), '')],
    ['a list in a list', list(list(text('alice')))],
    ['a list of a struct', list(struct(entry('sub', text('alice'))))],
    ['a list of an empty text', list(text(''))],
    ['no value', ''],
    ['a text, then null', text('alice') + numberField(1, 0)],
    ['a text, then a struct', text('alice') + struct('')],
    ['a text in a field that is a number', numberField(3, 5)],
    ['a number in a field that is a text', messageField(2, 'alice')],
  ])('nothing: %s', (_, written) => {
    expect(subjectIn(subject(written))).toBeUndefined();
  });
});

describe('repeated', () => {
  const payload = (value: string) => entry('payload', struct(entry('sub', text(value))));

  test.each<[string, string, string | undefined]>([
    ['namespaces: the last one counts', subject(text('alice')) + subject(text('bob')), 'bob'],
    ['also if it says nothing', subject(text('alice')) + entry(JWT, ''), undefined],
    ['claims: the last one counts', entry(JWT, payload('alice') + payload('bob')), 'bob'],
    ['another claim between', entry(JWT, payload('alice') + entry('other', text('bob'))), 'alice'],
    [
      'a key before its value, and after it',
      messageField(1, messageField(2, payload('alice')) + textField(1, JWT)),
      'alice',
    ],
  ])('%s', (_, written, expected) => {
    expect(subjectIn(written)).toBe(expected);
  });

  test('metadata: the last namespace of both counts', () => {
    const one = messageField(11, subject(text('alice')));
    const other = messageField(11, entry('other', ''));
    const bytes = Buffer.from(messageField(1, one + other), 'latin1');
    expect(filterMetadata(bytes).text(JWT, SUBJECT)).toBe('alice');
  });
});

describe('malformed bytes', () => {
  const broken = '\xff\xff\xff';

  test.each<[string, string]>([
    ['as the filter', entry(JWT, broken)],
    ['as the payload', entry(JWT, entry('payload', struct(broken)))],
    ['beside the payload', entry(JWT, entry('payload', struct(entry('sub', text('a')))) + broken)],
    ['as the claim', subject(broken)],
    ['as the member of a list', subject(list(broken))],
    ['in place of an entry', messageField(1, broken) + subject(text('alice'))],
  ])('%s: nothing is known, and the request is read', (_, written) => {
    const request = envoyGrpc.parse(check(written), '::1', {});
    expect(request).toMatchObject({ method: 'GET', target: '/chat' });
    expect(request?.metadata?.text(JWT, SUBJECT)).toBeUndefined();
  });

  test('that nobody reads are not noticed', () => {
    expect(subjectIn(entry('other', broken) + subject(text('alice')))).toBe('alice');
    const other = entry('other', broken);
    expect(subjectIn(entry(JWT, other + entry('payload', struct(entry('sub', text('a'))))))).toBe(
      'a',
    );
  });

  test('are read as a name or as nothing, whatever they are', () => {
    const whole = subject(list(text('alice'))) + entry('other', entry('a', text('b')));
    const bytes = check(whole);
    const start = bytes.indexOf(JWT) - 20;
    const damage = fc.array(
      fc.record({ at: fc.integer({ min: start, max: bytes.length - 1 }), byte: fc.nat(255) }),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(damage, (changes) => {
        const damaged = Buffer.from(bytes);
        for (const { at, byte } of changes) damaged[at] = byte;
        const found = filterMetadata(damaged).text(JWT, SUBJECT);
        expect(found === undefined || found.length <= 1_024).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('the work', () => {
  afterEach(() => vi.restoreAllMocks());

  /** Each of these reads takes at least the byte of a length. */
  function readsFor(bytes: Buffer, path: readonly string[]): number {
    const ends = vi.spyOn(ProtobufReader.prototype, 'endOfValue');
    filterMetadata(bytes).text(JWT, path);
    const reads = ends.mock.calls.length;
    ends.mockRestore();
    return reads;
  }

  const SIZE = 100_000;
  const nested = (depth: number): string =>
    depth === 0 ? text('alice') : struct(entry('a', nested(depth - 1)));
  const deep = Array<string>(2_000).fill('a');

  test.each<[string, string, readonly string[]]>([
    ['one long text', subject(text('x'.repeat(SIZE))), SUBJECT],
    ['a long text of another filter', entry('other', text('x'.repeat(SIZE))), SUBJECT],
    ['many filters', Array.from({ length: 5_000 }, (_, i) => entry(`n${i}`, '')).join(''), SUBJECT],
    ['empty entries', '\x0a\x00'.repeat(SIZE / 2), SUBJECT],
    ['empty claims', entry(JWT, '\x0a\x00'.repeat(SIZE / 2)), SUBJECT],
    ['a list of nothing', subject(messageField(6, '\x0a\x00'.repeat(SIZE / 2))), SUBJECT],
    ['one claim again and again', entry(JWT, entry('payload', '').repeat(5_000)), SUBJECT],
    ['deep nesting', entry(JWT, entry('a', nested(2_000))), SUBJECT],
    ['a path as deep as the nesting', entry(JWT, entry('a', nested(2_000))), deep],
    ['values again and again', subject(text('alice').repeat(10_000)), SUBJECT],
  ])('is at most that of reading each byte once: %s', (_, written, path) => {
    const bytes = check(written);
    expect(readsFor(bytes, path)).toBeLessThan(bytes.length);
  });

  test('is none before somebody asks', () => {
    const bytes = check('\x0a\x00'.repeat(SIZE / 2));
    const ends = vi.spyOn(ProtobufReader.prototype, 'message');
    expect(envoyGrpc.parse(bytes, '::1', {})?.metadata).toBeDefined();
    expect(ends).not.toHaveBeenCalled();
  });
});
