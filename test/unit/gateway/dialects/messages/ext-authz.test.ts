/** headgate reads and writes Envoy's messages as protobufjs does with Envoy's own definitions. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type EnvoyAnswer,
  readCheckRequest,
  writeCheckResponse,
} from '../../../../../src/gateway/dialects/messages/ext-authz.ts';
import { MalformedMessage } from '../../../../../src/gateway/protobuf/reader.ts';
import {
  checkRequestBytes,
  ENVOY_PROTOS,
  readWrittenResponse,
} from '../../../../support/grpc-client.ts';
import { everyFieldOf, typesOf } from '../../../../support/proto-types.ts';

const EVERY_FIELD = checkRequestBytes(
  everyFieldOf(typesOf(ENVOY_PROTOS), 'envoy.service.auth.v3.CheckRequest'),
);

const text = fc.string({ unit: 'binary', maxLength: 300 });
const map = fc.dictionary(
  text.filter((key) => key !== '__proto__' && !key.startsWith(':')),
  text,
  { maxKeys: 8, noNullPrototype: true },
);
const latin1 = (value: string) => Buffer.from(value, 'utf8').toString('latin1');
const latin1Map = (values: Record<string, string>) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [latin1(key), latin1(value)]));

describe('a CheckRequest', () => {
  test('with every field is read as the fields that headgate uses', () => {
    expect(readCheckRequest(EVERY_FIELD)).toEqual({
      method: 'the method',
      path: 'the path',
      host: 'the host',
      // Of both maps; the second one has a raw value, too.
      headers: { 'the key': 'the value,the raw_value' },
      peer: 'the address',
      contextExtensions: { 'the key': 'the value' },
      hasFilterMetadata: true,
    });
  });

  test('is read as Envoy wrote it', () => {
    const http = fc.record({
      method: text,
      path: text,
      host: text,
      headers: map,
      body: text,
      size: fc.maxSafeInteger(),
    });
    const request = fc.record({ peer: text, http, extensions: map, seconds: fc.maxSafeInteger() });
    fc.assert(
      fc.property(request, ({ peer, http, extensions, seconds }) => {
        const message = checkRequestBytes({
          attributes: {
            source: { address: { socket_address: { address: peer, port_value: 443 } } },
            destination: { address: { socket_address: { address: 'another' } } },
            request: { time: { seconds }, http },
            context_extensions: extensions,
          },
        });
        expect(readCheckRequest(message)).toEqual({
          method: latin1(http.method),
          path: latin1(http.path),
          host: latin1(http.host),
          headers: latin1Map(http.headers),
          peer: latin1(peer),
          contextExtensions: extensions,
          hasFilterMetadata: false,
        });
      }),
    );
  });

  test('is read without pseudo headers, which are fields of their own', () => {
    const headers = { ':path': '/a', accept: 'text/html', ':x': '', ' :y': 'z' };
    const message = checkRequestBytes({ attributes: { request: { http: { headers } } } });
    expect(readCheckRequest(message).headers).toEqual({ accept: 'text/html', ' :y': 'z' });
  });

  test('that is cut short is malformed, or ends between two fields', () => {
    for (let length = 0; length < EVERY_FIELD.length; length++) {
      const { method } = readOrMalformed(EVERY_FIELD.subarray(0, length)) ?? {};
      expect([undefined, '', 'the method']).toContain(method);
    }
  });

  test('with damaged bytes is read or malformed', () => {
    const damage = fc.array(fc.record({ at: fc.nat(EVERY_FIELD.length - 1), byte: fc.nat(255) }), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(damage, (changes) => {
        const bytes = Buffer.from(EVERY_FIELD);
        for (const { at, byte } of changes) bytes[at] = byte;
        readOrMalformed(bytes);
      }),
      { numRuns: 3_000 },
    );
  });

  test.each<[string, number[]]>([
    ['a group', [0x0b, 0x0c]],
    ['a field number 0', [0x02, 0x00]],
    ['a number that does not end', Array(20).fill(0x80)],
    ['a length beyond the end', [0x0a, 0x7f, 0x00]],
    ['a length of 2^63', [0x0a, ...Array(8).fill(0xff), 0x7f]],
    ['a field that ends after its message', [0x0a, 0x02, 0x0a, 0x05, 1, 2, 3, 4, 5]],
    ['a number that ends after its message', [0x0a, 0x02, 0x08, 0x80, 0x01]],
    ['half of a fixed number', [0x0d, 1, 2]],
  ])('with %s is malformed', (_, bytes) => {
    expect(() => readCheckRequest(Buffer.from(bytes))).toThrow(MalformedMessage);
  });
});

function readOrMalformed(bytes: Buffer) {
  try {
    return readCheckRequest(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(MalformedMessage);
    return undefined;
  }
}

describe('a CheckResponse', () => {
  const pairs = fc.array(fc.tuple(text, text), { maxLength: 12 });
  const writtenAndRead = (answer: EnvoyAnswer) => readWrittenResponse(writeCheckResponse(answer));
  const headersOf = (options: readonly { header: { key: string; value: string } }[] = []) =>
    options.map(({ header }) => [header.key, header.value]);

  test('that allows has headers which overwrite', () => {
    fc.assert(
      fc.property(pairs, (headers) => {
        const answer = { code: 0, status: 200, headers: headers.flat(), body: '' };
        const { status, ok_response, denied_response } = writtenAndRead(answer);
        expect(status.code).toBe(0);
        expect(denied_response).toBeUndefined();
        const options = ok_response?.response_headers_to_add;
        expect(headersOf(options)).toEqual(headers);
        for (const option of options ?? []) expect(option.append_action).toBe(2);
      }),
    );
  });

  test('that denies has a status, headers and a body', () => {
    const status = fc.integer({ min: 400, max: 599 });
    const body = fc.string({ unit: 'binary', maxLength: 20_000 });
    fc.assert(
      fc.property(pairs, status, body, (headers, httpStatus, text) => {
        const answer = { code: 8, status: httpStatus, headers: headers.flat(), body: text };
        const { status, ok_response, denied_response } = writtenAndRead(answer);
        expect(status.code).toBe(8);
        expect(ok_response).toBeUndefined();
        expect(denied_response?.status.code).toBe(httpStatus);
        expect(headersOf(denied_response?.headers)).toEqual(headers);
        expect(denied_response?.body).toBe(text);
      }),
    );
  });
});
