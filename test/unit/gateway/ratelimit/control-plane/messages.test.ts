/** The messages as Envoy defines them, written and read by a library for protobuf. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MalformedMessage } from '../../../../../src/gateway/protobuf/reader.ts';
import {
  readDiscoveryResponse,
  writeDiscoveryRequest,
} from '../../../../../src/gateway/ratelimit/control-plane/messages.ts';
import {
  configBytes,
  DISCOVERY_PROTOS,
  RATE_LIMIT_TYPE,
  readRequest,
  responseBytes,
} from '../../../../support/control-plane.ts';
import { everyFieldOf, typesOf } from '../../../../support/proto-types.ts';

const written = (...args: Parameters<typeof writeDiscoveryRequest>) =>
  readRequest(Buffer.from(writeDiscoveryRequest(...args), 'latin1'));

test('a request has the version, the nonce and the mistakes', () => {
  const received = { version: '7', nonce: 'n-8', refusal: 'two\nlines é' };
  expect(written({ id: 'a' }, received)).toMatchObject({
    version_info: '7',
    response_nonce: 'n-8',
    type_url: RATE_LIMIT_TYPE,
    error_detail: { code: 0, message: 'two\nlines é' },
    node: { id: 'a', metadata: { fields: {} } },
  });
});

test('a NACK has an error even if there is no text', () => {
  const { error_detail } = written({ id: 'a' }, { version: '', nonce: 'n', refusal: '' });
  expect(error_detail).not.toBeNull();
});

test('a response is read whatever other fields it has', () => {
  const NAME = 'envoy.service.discovery.v3.DiscoveryResponse';
  const every = everyFieldOf(typesOf(DISCOVERY_PROTOS), NAME);
  const value = configBytes({ domain: 'a' });
  const resources = [
    { type_url: 'b', value },
    { type_url: 'c', value: Buffer.alloc(0) },
  ];
  expect(readDiscoveryResponse(responseBytes({ ...every, resources }))).toEqual({
    version: 'the version_info',
    nonce: 'the nonce',
    typeUrl: 'the type_url',
    resources: [
      { typeUrl: 'b', value },
      { typeUrl: 'c', value: Buffer.alloc(0) },
    ],
  });
});

test('any bytes are a response or malformed', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        readDiscoveryResponse(Buffer.from(bytes));
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedMessage);
      }
    }),
    { numRuns: 2_000 },
  );
});
