/** Ways to write one call of an MCP tool: correct ones, wrong ones, and ones that servers, proxies and gateways may read differently. */
import { createHash } from 'node:crypto';
import {
  bytes,
  CALLS,
  CURRENT,
  called,
  inVersion,
  NAMES,
  named,
  OTHER_TOOL,
  TOOL,
  type Variation,
  VERSIONS,
} from './spelled-headers.ts';

export interface SpelledCall {
  readonly method: string;
  readonly target: string;
  /** Lines of the header, with their line breaks if they are folded. One character per byte. */
  readonly lines: readonly string[];
  readonly body: string;
  readonly isChunked: boolean;
}

type Part = 'name' | 'call' | 'version' | 'types' | 'body' | 'target' | 'method' | 'framing';
const TYPE = 'Content-Type: application/json';
const ACCEPT = 'Accept: application/json, text/event-stream';
const TYPES: readonly Variation[] = [
  ...[
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/json;',
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json-rpc',
    'text/plain, application/json',
  ].map((type) => [`Content-Type: ${type}`, ACCEPT]),
  [ACCEPT],
  ...[
    '*/*',
    'application/json',
    'text/event-stream',
    'Application/JSON, Text/Event-Stream',
    'application/*, text/*',
  ].map((accept) => [TYPE, `Accept: ${accept}`]),
  [TYPE],
];

const META = {
  'io.modelcontextprotocol/protocolVersion': CURRENT,
  'io.modelcontextprotocol/clientInfo': { name: 'client', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const PARAMS = { name: TOOL, arguments: {} };
const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...PARAMS, _meta: META } };
const OLD_CALL = { ...CALL, params: PARAMS };
const text = JSON.stringify(CALL);
const oldText = JSON.stringify(OLD_CALL);
const BODIES: readonly Variation[] = [
  oldText,
  JSON.stringify({
    ...CALL,
    params: {
      ...PARAMS,
      _meta: { ...META, 'io.modelcontextprotocol/protocolVersion': '2025-11-25' },
    },
  }),
  ...[
    [OLD_CALL],
    [OLD_CALL, OLD_CALL, OLD_CALL],
    [CALL, CALL],
    [{ ...OLD_CALL, params: { ...PARAMS, name: OTHER_TOOL } }, OLD_CALL],
  ].map((batch) => JSON.stringify(batch)),
  ...[text, oldText].flatMap((call) => [
    call.replace('"method":', '"method":"tools/list","method":'),
    call.replace('"name":"seek"', `"name":"${OTHER_TOOL}","name":"seek"`),
    call.replace('"name":"seek"', `"name":"seek","name":"${OTHER_TOOL}"`),
    call.replace('"params":', `"params":{"name":"${OTHER_TOOL}"},"params":`),
    call.replace('"name":"seek"', `"na\\u006de":"seek","x":"${OTHER_TOOL}"`),
    call.replace('"seek"', '"se\\u0065k"'),
    call.replace('"tools/call"', '"tools\\/call"'),
    call.replace('{', `{"padding":"${'x'.repeat(10_000)}",`),
    `\n\t ${call}\r\n`,
    `\ufeff${call}`,
    call.replace('"id":1,', ''),
    call.replace('"id":1,', '"id":"a",'),
    call.replace('"id":1,', '"id":null,'),
    call.replace('"jsonrpc":"2.0",', ''),
    `${call}${call}`,
  ]),
].map((body) => [bytes(body)]);

const TARGETS: readonly Variation[] = [
  '//mcp',
  '/mcp/',
  '/mcp//',
  '/%6dcp',
  '/m%63p',
  '/MCP',
  '/Mcp',
  '/x/../mcp',
  '/./mcp',
  '/mcp/.',
  '/mcp/x/..',
  '/mcp;a=b',
  '/mcp?a=b',
  '/mcp?',
  '/mcp%2f',
  '/mcp%20',
  '/%2e/mcp',
  '/mcp%00',
  '/mcp\\',
  'http://a/mcp',
  '/x/..%2fmcp',
  '/mcp%3fa',
].map((target) => [target]);
const METHODS: readonly Variation[] = ['post', 'Post', 'PUT', 'GET', 'PATCH'].map((method) => [
  method,
]);

const VARIATIONS: Readonly<Record<Part, readonly Variation[]>> = {
  name: NAMES,
  call: CALLS,
  version: VERSIONS,
  types: TYPES,
  body: BODIES,
  target: TARGETS,
  method: METHODS,
  framing: [['chunked']],
};

const USUAL: Readonly<Record<Part, Variation>> = {
  name: named(TOOL),
  call: called('tools/call'),
  version: inVersion(CURRENT),
  types: [TYPE, ACCEPT],
  body: [text],
  target: ['/mcp'],
  method: ['POST'],
  framing: [],
};

function spelled(changes: Partial<Record<Part, Variation>>): SpelledCall {
  const { name, call, version, types, body, target, method, framing } = { ...USUAL, ...changes };
  return {
    method: method[0] ?? '',
    target: target[0] ?? '',
    lines: [...types, ...version, ...call, ...name],
    body: body[0] ?? '',
    isChunked: framing.length > 0,
  };
}

/** As clients write it, current ones and older ones. */
export const USUAL_CALLS = [
  spelled({}),
  spelled({ name: [], call: [], version: [], body: [oldText] }),
];

/** A current call of the other tool. */
export function namedCall(name: string): SpelledCall {
  return spelled({ name: named(name), body: [text.replace(TOOL, OTHER_TOOL)] });
}

/** That is no call at all, but counts as one without headers: an answer to the server. */
export const BARE_ANSWER = spelled({
  name: [],
  call: [],
  version: [],
  body: ['{"jsonrpc":"2.0","id":1,"result":{}}'],
});

/** With one part changed, and with two, in an order that has nothing to do with how they are made. */
export function callSpellings(): {
  readonly singles: SpelledCall[];
  readonly pairs: SpelledCall[];
} {
  const parts = Object.keys(VARIATIONS) as Part[];
  const changes = parts.flatMap((part) => VARIATIONS[part].map((to) => ({ part, to })));
  const pairs = changes.flatMap((first, i) =>
    changes
      .slice(i + 1)
      .filter(({ part }) => part !== first.part)
      .map((second) => ({ [first.part]: first.to, [second.part]: second.to })),
  );
  const ordered = pairs.map((pair) => ({ pair, order: hashOf(JSON.stringify(pair)) }));
  ordered.sort((a, b) => (a.order < b.order ? -1 : 1));
  return {
    singles: changes.map(({ part, to }) => spelled({ [part]: to })),
    pairs: ordered.map(({ pair }) => spelled(pair)),
  };
}

const hashOf = (written: string) => createHash('sha256').update(written).digest('hex');

/** Over HTTP/1.1, as bytes. */
export function bytesOf(
  { method, target, lines: fields, body, isChunked }: SpelledCall,
  index: number,
): Buffer {
  const payload = Buffer.from(body, 'latin1');
  const framing = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${payload.length}`;
  const head = [
    `${method} ${target} HTTP/1.1`,
    'Host: a',
    `X-Index: ${index}`,
    'Connection: close',
    framing,
    ...fields,
  ];
  const sent = isChunked ? chunksOf(payload) : payload;
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), sent]);
}

const CHUNK = 50;

function chunksOf(payload: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; at < payload.length; at += CHUNK) {
    const chunk = payload.subarray(at, at + CHUNK);
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]);
}
