import { expect, test } from 'vitest';
import type { HeaderFields } from '../../../../../src/gateway/core/check-request.ts';
import { withGrpcStatus } from '../../../../../src/gateway/dialects/shared/grpc-status.ts';

const headersOf = (status: number, request: HeaderFields) =>
  withGrpcStatus({ status, headers: [], body: '' }, request).headers;

test.each(['application/grpc', 'application/grpc+proto', 'application/grpc+json; charset=utf-8'])(
  'a 429 for %s has the status RESOURCE_EXHAUSTED',
  (type) => {
    expect(headersOf(429, { 'content-type': type })).toEqual(['Grpc-Status', '8']);
  },
);

test.each([
  'application/grpc-web+proto',
  'application/grpc;x=1',
  'application/grpc, a',
  'APPLICATION/GRPC',
  'text/application/grpc',
  'application/json',
  '',
])('a 429 for %j has no status of gRPC, because Envoy takes it for no call', (type) => {
  expect(headersOf(429, { 'content-type': type })).toEqual([]);
});

test('neither has an answer to a request without a type, nor one that is no 429', () => {
  expect(headersOf(429, {})).toEqual([]);
  for (const status of [200, 400, 403]) {
    expect(headersOf(status, { 'content-type': 'application/grpc' })).toEqual([]);
  }
});
