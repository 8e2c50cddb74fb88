/** Which header fields a request may have, and how its handler gets them (RFC 9113, section 8). */
import { beforeEach, describe, expect, test } from 'vitest';
import type { RequestHeaders } from '../../../../src/gateway/http2/header-rules.ts';
import { END_STREAM, frame, Type } from '../../../support/http2-frames.ts';
import {
  block,
  data,
  END_HEADERS,
  type Fields,
  opened,
  type RawPeer,
  REQUEST,
  startPeerServer,
} from '../../../support/http2-peer.ts';

let seen: RequestHeaders[];
let bodies: string[];
let peer: RawPeer;
beforeEach(async () => {
  seen = [];
  bodies = [];
  const server = await startPeerServer((stream) => {
    seen.push(stream.headers);
    stream.listener = {
      onData: (chunk, isLast) => bodies.push(`${chunk}${isLast ? '.' : ''}`),
      onClosed() {},
    };
  });
  peer = await server.connected();
});

const request = (fields: Fields) => frame(Type.headers, END_HEADERS | END_STREAM, 1, block(fields));
const without = (name: string) => REQUEST.filter(([each]) => each !== name);
const withPseudo = (name: string, value: string): Fields => [...without(name), [name, value]];

describe('a request is malformed', () => {
  test.each<[string, Fields]>([
    ['without a method', without(':method')],
    ['without a scheme', without(':scheme')],
    ['without a path', without(':path')],
    ['with an empty path', withPseudo(':path', '')],
    ['with an empty method', withPseudo(':method', '')],
    ['with two methods', [...REQUEST, [':method', 'POST']]],
    ['with two paths', [...REQUEST, [':path', '/b']]],
    ['with two schemes', [...REQUEST, [':scheme', 'http']]],
    ['with two authorities', [...REQUEST, [':authority', 'a']]],
    ['with an unknown pseudo-header', [...REQUEST, [':protocol', 'x']]],
    ['with a pseudo-header of answers', [...REQUEST, [':status', '200']]],
    ['with a pseudo-header behind a field', [['a', 'b'], ...REQUEST]],
    ['with an upper-case name', [...REQUEST, ['X-a', 'b']]],
    ['with an empty name', [...REQUEST, ['', 'b']]],
    ['with a blank in a name', [...REQUEST, ['a b', 'c']]],
    ['with a colon in a name', [...REQUEST, ['a:b', 'c']]],
    ['with a byte above 7F in a name', [...REQUEST, ['\u00e4', 'c']]],
    ['with NUL in a value', [...REQUEST, ['a', 'b\0c']]],
    ['with a line feed in a value', [...REQUEST, ['a', 'b\nc']]],
    ['with a carriage return in a value', [...REQUEST, ['a', 'b\rc']]],
    ['with DEL in a value', [...REQUEST, ['a', 'b\x7f']]],
    ['with a blank before a value', [...REQUEST, ['a', ' b']]],
    ['with a tab behind a value', [...REQUEST, ['a', 'b\t']]],
    ['with a line feed in its path', withPseudo(':path', '/a\nb')],
    ...['connection', 'proxy-connection', 'keep-alive', 'transfer-encoding', 'upgrade'].map(
      (name): [string, Fields] => [`with ${name}`, [...REQUEST, [name, 'a']]],
    ),
    ['with te: gzip', [...REQUEST, ['te', 'gzip']]],
    ['with te: trailers, gzip', [...REQUEST, ['te', 'trailers, gzip']]],
    ['with a length that is no number', [...REQUEST, ['content-length', '1e1']]],
    ['with a negative length', [...REQUEST, ['content-length', '-1']]],
    ['with two lengths', [...REQUEST, ['content-length', '0'], ['content-length', '1']]],
    ['with a length and no body', [...REQUEST, ['content-length', '1']]],
    ['if CONNECT has a path', withPseudo(':method', 'CONNECT')],
    ['if CONNECT has no authority', [[':method', 'CONNECT']]],
  ])('%s', async (_, fields) => {
    expect(await peer.says(request(fields))).toEqual(['reset 1 protocol']);
    expect(bodies).toEqual([]);
  });
});

describe('a request is accepted', () => {
  test.each<[string, Fields]>([
    ['without an authority', without(':authority')],
    ['with te: trailers', [...REQUEST, ['te', 'trailers']]],
    ['with an empty value', [...REQUEST, ['a', '']]],
    ['with a tab and bytes above 7F in a value', [...REQUEST, ['a', 'b\tc \u00e4\u00ff']]],
    ['with every character of names', [...REQUEST, ["!#$%&'*+-.^_`|~09az", 'a']]],
    ['with the same length twice', [...REQUEST, ['content-length', '0'], ['content-length', '0']]],
    ['with a length of 0', [...REQUEST, ['content-length', '0']]],
    [
      'if CONNECT has an authority only',
      [
        [':method', 'CONNECT'],
        [':authority', 'a:1'],
      ],
    ],
  ])('%s', async (_, fields) => {
    expect(await peer.says(request(fields))).toEqual([]);
    expect(bodies).toEqual(['.']);
  });
});

describe('an :authority is accepted', () => {
  test.each([
    'headgate:8081',
    'outbound|8081||ratelimit.default.svc.cluster.local',
    'outbound_.8081_._.ratelimit.default.svc.cluster.local',
    'a b',
    '<cluster> {1} "x" \\ ^ ` #?/',
    '[::1]:8081',
    '\u00c3\u00a4',
    '',
    '|'.repeat(16_000),
  ])('that is %j', async (authority) => {
    expect(await peer.says(request(withPseudo(':authority', authority)))).toEqual([]);
    expect(seen).toEqual([
      { ':method': 'POST', ':scheme': 'http', ':path': '/a', ':authority': authority },
    ]);
  });

  test('that Envoy 1.40.0 sends for a cluster of Istio', async () => {
    const envoy = Buffer.from(
      '8304ab60b5773fa5d05b3b98855ec1a4b41a93257eecafb4692e735264ee2d9dcc42b1ba73db449b4692e735264f41a53da98cf6d527fc780f07fe7fcb0692d06a4c95e42ca3b684ae8ee45c945a8496c5e83907478640027465864d833505b11f40899acac8b24d494f6a7f8308014f5f8b1d75d0620d263d4c4d6564408cf2b16aee7f4b1aa496ca8747834d9697408bf2b4a7b3c0ec90b22d29ec870be25c0b89717f4096f2b16aee7f4b17cd65224b22d6765926a4a7b52b528f820801',
      'hex',
    );
    expect(await peer.says(frame(Type.headers, END_HEADERS | END_STREAM, 1, envoy))).toEqual([]);
    expect(seen[0]?.[':authority']).toBe('outbound|8081||ratelimit.default.svc.cluster.local');
    expect(seen[0]?.[':path']).toBe('/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit');
  });

  test('in every request that repeats it by its number in the table', async () => {
    const authority = 'outbound|8081||r';
    const named = Buffer.concat([Buffer.from([0x41, authority.length]), Buffer.from(authority)]);
    const first = Buffer.concat([block(without(':authority')), named]);
    const second = Buffer.concat([block(without(':authority')), Buffer.from([0xbe])]);
    const flags = END_HEADERS | END_STREAM;
    await peer.says(frame(Type.headers, flags, 1, first), frame(Type.headers, flags, 3, second));
    expect(seen.map((headers) => headers[':authority'])).toEqual([authority, authority]);
  });
});

describe('a handler gets headers', () => {
  const headersOf = async (...fields: [string, string][]) => {
    await peer.says(request([...REQUEST, ...fields]));
    return seen.at(-1) as RequestHeaders;
  };

  test('that are joined if they are repeated', async () => {
    const headers = await headersOf(
      ['a', '1'],
      ['a', '2'],
      ['a', '3'],
      ['cookie', 'x=1'],
      ['cookie', 'y=2'],
      ['content-type', 'application/grpc'],
      ['content-type', 'text/plain'],
      ['authorization', 'first'],
      ['authorization', 'second'],
      ['set-cookie', 'p'],
      ['set-cookie', 'q'],
      ['x-forwarded-for', '192.0.2.1'],
      ['x-forwarded-for', '192.0.2.2'],
    );
    expect(headers).toMatchObject({
      a: '1, 2, 3',
      cookie: 'x=1; y=2',
      'content-type': 'application/grpc',
      authorization: 'first',
      'set-cookie': ['p', 'q'],
      'x-forwarded-for': '192.0.2.1, 192.0.2.2',
    });
  });

  test('in an object in which nothing else is', async () => {
    const headers = await headersOf(['a', 'b']);
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      expect(headers[name], name).toBeUndefined();
    }
    expect(Object.keys(headers)).toEqual([...REQUEST.map(([name]) => name), 'a']);
  });

  test('whatever their names are', async () => {
    const odd = await headersOf(['__proto__', 'a'], ['constructor', 'b'], ['cookie', 'c']);
    const expected = [...REQUEST, ['__proto__', 'a'], ['constructor', 'b'], ['cookie', 'c']];
    expect(Object.entries(odd)).toEqual(expected);
    expect(Reflect.getPrototypeOf(Reflect.getPrototypeOf(odd) as object)).toBeNull();
  });
});

describe('content-length', () => {
  const sized = (length: string) => opened(1, [['content-length', length]]);

  test.each<[string, Uint8Array[]]>([
    ['less', [sized('5'), data(1, 'four', END_STREAM)]],
    ['more', [sized('3'), data(1, 'four')]],
    ['less before trailers', [sized('5'), data(1, 'four'), trailersOn(1)]],
  ])('with %s than it says is a mistake', async (_, frames) => {
    expect(await peer.says(...frames)).toEqual(['reset 1 protocol']);
    expect(bodies.join('')).not.toContain('.');
  });

  test('does not count padding', async () => {
    const padded = frame(Type.data, END_STREAM | 8, 1, Buffer.from([2, 97, 98, 0, 0]));
    expect(await peer.says(sized('2'), padded)).toEqual([]);
    expect(bodies).toEqual(['ab.']);
  });
});

function trailersOn(stream: number, fields: Fields = [['a', 'b']]) {
  return frame(Type.headers, END_HEADERS | END_STREAM, stream, block(fields));
}

describe('trailers', () => {
  test('end a request, and are not shown to its handler', async () => {
    expect(await peer.says(opened(1), data(1, 'body'), trailersOn(1))).toEqual([]);
    expect(bodies).toEqual(['body', '.']);
    expect(seen[0]).not.toHaveProperty('a');
  });

  test.each<[string, Fields]>([
    ['a pseudo-header', [[':path', '/b']]],
    ['an upper-case name', [['A', 'b']]],
    ['a field of a connection', [['connection', 'close']]],
  ])('with %s are malformed', async (_, fields) => {
    expect(await peer.says(opened(1), trailersOn(1, fields))).toEqual(['reset 1 protocol']);
  });
});

test('the table stays in step over blocks that are refused, and over those of streams that are gone', async () => {
  const indexed = (name: string, value: string) =>
    Buffer.concat([
      Buffer.from([0x40, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value),
    ]);
  const flags = END_HEADERS | END_STREAM;
  const refused = frame(
    Type.headers,
    flags,
    1,
    Buffer.concat([indexed('Bad', 'a'), indexed('one', '1')]),
  );
  const gone = frame(Type.headers, flags, 1, indexed('two', '2'));
  const reference = frame(
    Type.headers,
    flags,
    3,
    Buffer.concat([block(REQUEST), Buffer.from([0xbe, 0xbf])]),
  );
  expect(await peer.says(refused, gone, reference)).toEqual(['reset 1 protocol']);
  expect(seen).toEqual([{ ...Object.fromEntries(REQUEST), one: '1', two: '2' }]);
});
