/** What the access logs of Envoy say, in messages that Envoy's own definitions wrote. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Outcome, unitsOf } from '../../../../src/gateway/core/counting/outcome.ts';
import { MalformedMessage } from '../../../../src/gateway/protobuf/reader.ts';
import { accessLogService, readAccessLog } from '../../../../src/gateway/settlement/access-log.ts';
import {
  accessLog,
  accessLogMessage,
  firstAccessLog,
  type LoggedRequest,
  STREAM_ACCESS_LOGS,
} from '../../../support/access-logs.ts';
import { field } from '../../../support/grpc-frames.ts';

function read(message: Buffer): [token: string, outcome: Outcome][] {
  const found: [string, Outcome][] = [];
  readAccessLog(message, (token, outcome) => found.push([token, outcome]));
  return found;
}

/** As plain objects. */
function outcomes(...requests: readonly LoggedRequest[]): object[] {
  return read(accessLog(...requests)).map(([token, { status, headers, units }]) => ({
    token,
    ...(status !== undefined && { status }),
    ...(headers !== undefined && { headers: Object.fromEntries(headers) }),
    ...(units !== undefined && { units: Object.fromEntries(units) }),
  }));
}

test('a request has its token, units, status and response headers', () => {
  const request = {
    token: 'a-token',
    units: { tokens: 812, images: 0 },
    status: 204,
    headers: { 'X-Login': 'ok', location: '/home?a=ä' },
  };
  expect(outcomes(request)).toEqual([
    { ...request, headers: { 'x-login': 'ok', location: '/home?a=ä' } },
  ]);
});

test('the first message of a stream names Envoy at length, and is read like the others', () => {
  const message = firstAccessLog({ token: 'a', units: { tokens: 1 } });
  expect(message.length).toBeGreaterThan(45_000);
  expect(read(message).map(([token]) => token)).toEqual(['a']);
});

test('requests without a token are skipped, each of the others is reported once', () => {
  const requests = ['a', undefined, 'b', '', 'c', 7, true].map((token) => ({ token }));
  expect(read(accessLog(...requests)).map(([token]) => token)).toEqual(['a', 'b', 'c']);
});

describe('the status and the headers', () => {
  test.each([
    'downstream_remote_disconnect',
    'response_timeout',
    'upstream_reset_before_response_started{connection_termination}',
    'ext_authz_denied',
    'direct_response',
    'VIA_UPSTREAM',
    '',
  ])('are left out unless the upstream has answered and the client got it: %s', (details) => {
    expect(outcomes({ token: 'a', details, headers: { 'x-login': 'ok' } })).toEqual([
      { token: 'a' },
    ]);
  });

  test('do not change the units: an aborted stream may have told them', () => {
    const details = 'downstream_remote_disconnect';
    expect(outcomes({ token: 'a', details, units: { tokens: 5 } })).toEqual([
      { token: 'a', units: { tokens: 5 } },
    ]);
  });
});

describe('units', () => {
  test.each([
    ['a fraction', 0.5],
    ['negative', -1],
    ['not a number', Number.NaN],
    ['infinite', Number.POSITIVE_INFINITY],
    ['2^53', 2 ** 53],
    ['2^64', 2 ** 64],
    ['a text', '812'],
    ['a truth value', true],
  ])('are unknown if they are %s', (_, tokens) => {
    const charged = { unit: 'tokens', reserve: 500, unknown: 8_000, refund: undefined };
    const [[, outcome] = ['', {}]] = read(accessLog({ token: 'a', units: { tokens, images: 2 } }));
    expect(unitsOf(charged, outcome, 500)).toBe(8_000);
    expect(unitsOf({ ...charged, unit: 'images' }, outcome, 500)).toBe(2);
  });

  test('go up to 2^53 - 1', () => {
    const units = { tokens: Number.MAX_SAFE_INTEGER };
    expect(outcomes({ token: 'a', units })).toEqual([
      { token: 'a', status: 200, headers: {}, units },
    ]);
  });

  test('can have any names', () => {
    const units = JSON.parse('{"__proto__": 1, "constructor": 2, "": 3}');
    const [[, outcome] = ['', undefined]] = read(accessLog({ token: 'a', units }));
    expect([...(outcome?.units ?? [])].sort()).toEqual([
      ['', 3],
      ['__proto__', 1],
      ['constructor', 2],
    ]);
  });
});

describe('an entry is about a finished request', () => {
  test.each(['NotSet', 'DownstreamEnd'])('if its type is %s', (type) => {
    expect(outcomes({ token: 'a', type })).toHaveLength(1);
  });

  test.each([
    ...['DownstreamStart', 'DownstreamPeriodic', 'DownstreamTunnelSuccessfullyEstablished'],
    ...['UpstreamPoolReady', 'UpstreamPeriodic', 'UpstreamEnd'],
    ...['TcpUpstreamConnected', 'TcpPeriodic', 'TcpConnectionEnd'],
    ...['UdpTunnelUpstreamConnected', 'UdpPeriodic', 'UdpSessionEnd'],
  ])('and not if its type is %s', (type) => {
    expect(outcomes({ token: 'a', type })).toEqual([]);
  });

  test('and not if an Envoy without types marks it as intermediate', () => {
    const both = [true, false].map((isIntermediate) => ({
      ...{ token: String(isIntermediate), type: 'NotSet', isIntermediate },
    }));
    expect(read(accessLog(...both)).map(([token]) => token)).toEqual(['false']);
  });
});

test('entries about TCP are skipped', () => {
  const entry = {
    common_properties: {
      metadata: {
        filter_metadata: {
          'envoy.filters.http.ext_authz': { fields: { settle: { stringValue: 'a' } } },
        },
      },
    },
  };
  expect(read(accessLogMessage({ tcp_logs: { log_entry: [entry] } }))).toEqual([]);
});

test('fields may come in any order, and the last value of a name counts', () => {
  const text = (id: number, value: string) => field(id, Buffer.from(value));
  const setting = (name: string, token: string) =>
    field(1, field(2, text(3, token)), text(1, name));
  const namespace = (name: string, ...settings: Buffer[]) =>
    field(1, field(2, ...settings), text(1, name));
  const metadata = field(
    17,
    namespace('envoy.filters.http.ext_authz', setting('settle', 'a'), setting('settle', 'b')),
    namespace('other', setting('settle', 'c')),
  );
  const response = field(4, text(6, 'via_upstream'), field(1, Buffer.from([8, 201, 1])));
  const message = field(2, field(1, response, field(1, metadata)));
  expect(read(message)).toEqual([['b', { status: 201, headers: new Map(), units: undefined }]]);
});

test('what stands before a mistake is reported', () => {
  const cut = Buffer.concat([accessLog({ token: 'a' }), Buffer.from([0x12, 0x7f])]);
  const found: string[] = [];
  expect(() => readAccessLog(cut, (token) => found.push(token))).toThrow(MalformedMessage);
  expect(found).toEqual(['a']);
});

test('random bytes, and messages with changed bytes, are read or malformed', () => {
  const whole = firstAccessLog({
    ...{ token: 'a', units: { tokens: 3 }, headers: { a: 'b' } },
  }).subarray(-400);
  const readOrMalformed = (bytes: Uint8Array) => {
    try {
      read(Buffer.from(bytes));
    } catch (error) {
      expect(error).toBeInstanceOf(MalformedMessage);
    }
  };
  const changes = fc.array(fc.tuple(fc.nat(399), fc.nat(255)), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(changes, fc.uint8Array({ maxLength: 200 }), (at, noise) => {
      const bytes = Buffer.from(whole);
      for (const [index, value] of at) bytes[index] = value;
      readOrMalformed(bytes);
      readOrMalformed(noise);
    }),
    { numRuns: 2_000 },
  );
});

test('the service settles each entry over the channel of Envoy', () => {
  const settled: unknown[] = [];
  const { name, method, take } = accessLogService((token, _outcome, channel) => {
    settled.push([token, channel]);
    return 'settled';
  });
  expect(`/${name}/${method}`).toBe(STREAM_ACCESS_LOGS);
  take(accessLog({ token: 'a' }, {}, { token: 'b' }));
  expect(settled).toEqual([
    ['a', 'envoy'],
    ['b', 'envoy'],
  ]);
});
