import { expect, test } from 'vitest';
import type { Dialect } from '../../../../src/gateway/core/dialect.ts';
import { envoyGrpc, HTTP_DIALECTS } from '../../../../src/gateway/dialects/index.ts';
import { type DialectUnderTest, describeDialect } from '../../../contract/dialect.contract.ts';
import { envoyGrpc as grpcFixture } from '../../../fixtures/proxies/envoy-grpc.ts';
import { HTTP_FIXTURES } from '../../../fixtures/proxies/index.ts';
import { checkRequestBytes, readWrittenResponse } from '../../../support/grpc-client.ts';
import {
  type HeaderChange,
  headerLines,
  PROXY_ADDRESS,
  type ProxyFixture,
  parseFixture,
} from '../../../support/proxy-fixture.ts';

/** All headers that some proxy sends about a request and that a client of another one can set. */
const TELLING = new Set(
  Object.values(HTTP_FIXTURES)
    .flatMap(({ required, optional, means }) => [
      ...required,
      ...Object.keys(optional),
      ...means.addressHeaders,
      'x-forwarded-host',
      'x-request-id',
    ])
    .map((name) => name.toLowerCase()),
);

function foreignTo(own: readonly string[]): string[] {
  const known = new Set([...own, 'x-forwarded-for', 'forwarded'].map((name) => name.toLowerCase()));
  return [...TELLING].filter((name) => !known.has(name));
}

function overHttp(dialect: Dialect, fixture: ProxyFixture): DialectUnderTest {
  return {
    name: dialect.name,
    fixture,
    foreignHeaders: foreignTo(headerLines(fixture).map(([name]) => name)),
    parse: (change) => parseFixture(dialect, fixture, change),
    render(decision, style) {
      const { status, headers, body } = dialect.render(decision, style, {});
      const pairs = Array.from({ length: headers.length / 2 }, (_, i) =>
        headers.slice(2 * i, 2 * i + 2),
      );
      return { status, headers: once(pairs as [string, string][]), body };
    },
  };
}

function once(pairs: readonly (readonly [string, string])[]): Record<string, string> {
  expect(new Set(pairs.map(([name]) => name.toLowerCase())).size).toBe(pairs.length);
  for (const [, value] of pairs) expect(value).not.toMatch(/[\r\n]/);
  return Object.fromEntries(pairs);
}

/** Envoy joins repeated headers with a comma. */
function grpcHeaders({ remove, repeat, empty, add = [] }: HeaderChange): Record<string, string> {
  const headers: Record<string, string> = { ...grpcFixture.sends.attributes.request.http.headers };
  if (remove !== undefined) delete headers[remove];
  if (repeat !== undefined) headers[repeat] = `${headers[repeat]},${headers[repeat]}`;
  if (empty !== undefined) headers[empty] = '';
  return { ...headers, ...Object.fromEntries(add) };
}

const overGrpc: DialectUnderTest = {
  name: envoyGrpc.name,
  fixture: grpcFixture,
  foreignHeaders: foreignTo(Object.keys(grpcHeaders({}))),
  parse(change = {}) {
    const { attributes } = grpcFixture.sends;
    const http = { ...attributes.request.http, headers: grpcHeaders(change) };
    const message = checkRequestBytes({ attributes: { ...attributes, request: { http } } });
    const request = envoyGrpc.parse(message, PROXY_ADDRESS, {});
    if (request === undefined) throw new Error('the check is not about an HTTP request');
    return request;
  },
  render(decision, style) {
    const message = envoyGrpc.write(envoyGrpc.render(decision, style, {}));
    const { ok_response, denied_response } = readWrittenResponse(message);
    const options = ok_response?.response_headers_to_add ?? denied_response?.headers ?? [];
    return {
      status: denied_response?.status.code ?? 200,
      headers: once(options.map(({ header }) => [header.key, header.value])),
      body: denied_response?.body ?? '',
    };
  },
};

test('every HTTP dialect has a fixture', () => {
  expect(Object.keys(HTTP_FIXTURES).sort()).toEqual(HTTP_DIALECTS.map(({ name }) => name).sort());
});

for (const dialect of HTTP_DIALECTS) {
  const fixture = HTTP_FIXTURES[dialect.name];
  if (fixture !== undefined) describeDialect(overHttp(dialect, fixture));
}
describeDialect(overGrpc);
