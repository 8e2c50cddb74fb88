/** Ways to write one call of an MCP tool: correct ones, wrong ones, and ones that servers, proxies and gateways may read differently. */
import { createHash } from 'node:crypto';

/** Its base64 has padding. */
export const TOOL = 'seek';
export const OTHER_TOOL = 'fetch';
const CURRENT = '2026-07-28';

export interface SpelledCall {
  readonly method: string;
  readonly target: string;
  /** Lines of the header, with their line breaks if they are folded. One character per byte. */
  readonly lines: readonly string[];
  readonly body: string;
  readonly isChunked: boolean;
}

type Part = 'name' | 'call' | 'version' | 'types' | 'body' | 'target' | 'method' | 'framing';
type Variation = readonly string[];

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64');
export const encoded = (text: string | Buffer) => `=?base64?${base64(text)}?=`;
const bytes = (text: string) => Buffer.from(text).toString('latin1');
const lines = (name: string) => (value: string) => [`${name}: ${value}`];

const WORDS = 'base64';
/** The mark with one letter in upper case, or all. */
const MARKS = [...WORDS].map(
  (letter, i) => WORDS.slice(0, i) + letter.toUpperCase() + WORDS.slice(i + 1),
);

const NAME_VALUES = [
  ...[
    `${TOOL} `,
    `  ${TOOL}`,
    `\t${TOOL}`,
    `${TOOL}\t`,
    `${TOOL} \t `,
    `"${TOOL}"`,
    `'${TOOL}'`,
    `<${TOOL}>`,
  ],
  ...[
    `${TOOL}\x0b`,
    `\x0c${TOOL}`,
    `${TOOL}\x00`,
    `${TOOL}\x7f`,
    `\x1f${TOOL}`,
    `${TOOL}\xa0`,
    `\xa0${TOOL}`,
  ],
  ...[
    'SEEK',
    'Seek',
    'sEEK',
    '%73eek',
    's%65ek',
    'seek%20',
    'seek%00',
    'seek;q=1',
    'seek#',
    'seek?',
    'seek/',
    '/seek',
  ],
  ...[
    'seek,',
    ',seek',
    'seek, seek',
    'seek,seek',
    `seek, ${OTHER_TOOL}`,
    `${OTHER_TOOL},seek`,
    `${OTHER_TOOL}, seek`,
    ', ',
    ',',
  ],
  ...[
    OTHER_TOOL,
    'nothing',
    '*',
    'seek*',
    'none',
    '__proto__',
    'constructor',
    'x'.repeat(4_200),
    `seek${' '.repeat(5_000)}x`,
  ],
  ...[
    bytes('ｓeek'),
    bytes('séek'),
    bytes('s\u00adeek'),
    bytes('seek\u200b'),
    bytes('\ufeffseek'),
    's\xe9ek',
    '\xffseek',
  ],
  ...[
    encoded(TOOL),
    ` ${encoded(TOOL)} `,
    `\t${encoded(TOOL)}`,
    encoded(OTHER_TOOL),
    encoded(encoded(TOOL)),
    `${encoded(TOOL)},`,
  ],
  ...[
    `${encoded(TOOL)}, ${encoded(TOOL)}`,
    `${encoded(OTHER_TOOL)}, ${TOOL}`,
    `${encoded(TOOL)}${encoded('')}`,
    `x${encoded(TOOL)}`,
  ],
  ...[
    'c2Vlaw',
    'c2Vlaw=',
    'c2Vlaw===',
    'c2Vlaw====',
    'c2Vlax==',
    'c2Vlay==',
    'c2Vlaz==',
    'c2Vl aw==',
    'c2Vl\taw==',
    ' c2Vlaw==',
    'c2Vlaw== ',
    'c2V=law==',
    'c2Vlaw==c2Vlaw==',
    'c2Vl\\naw==',
    'c2Vlaw%3D%3D',
    'c2Vlaw-_',
    '',
    '=',
    '====',
    'seek',
    'QzJWbGF3PT0=',
  ].map((payload) => `=?base64?${payload}?=`),
  ...[
    '=?base64?=',
    '=?base64?c2Vlaw==',
    '=?base64?c2Vlaw==?',
    '=?base64?c2Vlaw==?=x',
    'base64?c2Vlaw==?=',
    '=?base64:c2Vlaw==?=',
  ],
  ...[
    '=?utf-8?B?c2Vlaw==?=',
    '=?UTF-8?Q?seek?=',
    '=?base64url?c2Vlaw?=',
    '=?base32?ONSWK2Y=?=',
    '=?hex?7365656b?=',
  ],
  ...MARKS.map((mark) => `=?${mark}?c2Vlaw==?=`),
  '=?BASE64?c2Vlaw==?=',
  ...[
    '\ufeffseek',
    '\ufeff\ufeffseek',
    'seek\ufeff',
    ' seek',
    'seek ',
    'seek\n',
    '\tseek',
    'seek\0',
    '\0seek',
    'seek\u0301',
    's\u00adeek',
    'seek\u200b',
    'SEEK',
    'ｓｅｅｋ',
    'seek,',
    'seek, fetch',
    '"seek"',
  ].map(encoded),
  ...[
    Buffer.from('seek', 'utf16le'),
    Buffer.from('\ufeffseek', 'utf16le'),
    Buffer.from([0xc1, 0xb3, 0x65, 0x65, 0x6b]),
    Buffer.from([0x73, 0x65, 0x65, 0x6b, 0xff]),
    Buffer.from([0xef, 0xbb, 0x73, 0x65, 0x65, 0x6b]),
  ].map(encoded),
];

const named = lines('Mcp-Name');
const NAMES: readonly Variation[] = [
  [],
  named(''),
  ...NAME_VALUES.map((value) => named(value)),
  ...[
    [TOOL, TOOL],
    [TOOL, OTHER_TOOL],
    [OTHER_TOOL, TOOL],
    ['', TOOL],
    [TOOL, ''],
    ['', ''],
    [OTHER_TOOL, OTHER_TOOL],
    [encoded(TOOL), OTHER_TOOL],
    [OTHER_TOOL, encoded(TOOL)],
    [OTHER_TOOL, '', TOOL],
  ].map((values) => values.flatMap(named)),
  ...[
    'mcp-name',
    'MCP-NAME',
    'mCP-nAME',
    'Mcp_Name',
    'Mcp.Name',
    'Mcp-Name ',
    'Mcp-Name\t',
    'X-Mcp-Name',
    'Mcp-Names',
  ].map((name) => [`${name}: ${TOOL}`]),
  ...['Mcp_Name', 'Mcp.Name', 'Mcp-Name '].map((name) => [
    `${name}: ${OTHER_TOOL}`,
    ...named(TOOL),
  ]),
  ...['Mcp_Name', 'Mcp.Name', 'Mcp-Name '].map((name) => [
    ...named(OTHER_TOOL),
    `${name}: ${TOOL}`,
  ]),
  [`Mcp-Name:${TOOL}`],
  [`Mcp-Name:\r\n ${TOOL}`],
  [`Mcp-Name: ${OTHER_TOOL}\r\n\t${TOOL}`],
  ['Mcp-Name: se\r\n ek'],
  [`Mcp-Name: ${OTHER_TOOL}\r\n`.trimEnd(), ` ${TOOL}`],
];

const called = lines('Mcp-Method');
const CALLS: readonly Variation[] = [
  [],
  ...[
    '',
    'TOOLS/CALL',
    'Tools/Call',
    ' tools/call',
    'tools/call ',
    'tools/call\t',
    '\ttools/call',
    encoded('tools/call'),
    'tools/list',
    'initialize',
    'ping',
    'server/discover',
    'notifications/initialized',
    'resources/read',
    'prompts/get',
    'none',
    '*',
    'tools/*',
    'tools//call',
    'tools/call/',
    '/tools/call',
    'tools%2Fcall',
    'tools\\call',
    'tools/call, tools/call',
    'tools/call,tools/list',
    'tools/list, tools/call',
    'tools/call;x',
    '__proto__',
    'constructor',
    bytes('tools∕call'),
    'tools/c\xe0ll',
    '"tools/call"',
    'tools/call\x00',
    'x'.repeat(4_200),
  ].map(called),
  ...[
    ['tools/call', 'tools/call'],
    ['tools/call', 'tools/list'],
    ['tools/list', 'tools/call'],
    ['', 'tools/call'],
    ['tools/call', ''],
    ['', ''],
    ['tools/list', 'tools/list'],
  ].map((values) => values.flatMap(called)),
  ...['mcp-method', 'MCP-METHOD', 'Mcp_Method', 'Mcp.Method', 'Mcp-Method '].map((name) => [
    `${name}: tools/call`,
  ]),
  [...called('tools/list'), 'Mcp_Method: tools/call'],
  ['Mcp-Method:\r\n tools/call'],
];

const inVersion = lines('MCP-Protocol-Version');
const VERSIONS: readonly Variation[] = [
  [],
  ...[
    '',
    '2025-11-25',
    '2025-06-18',
    '2025-03-26',
    '2024-11-05',
    '2026-07-27',
    '2026-07-29',
    '2027-01-01',
    '9999-12-31',
    'zzz',
    'draft',
    'DRAFT-2026-v1',
    '2026-7-28',
    '20260728',
    '2026-07-28T00:00:00Z',
    '2026-07-28x',
    '"2026-07-28"',
    ' 2026-07-28',
    '2026-07-28\t',
    '2026-07-28, 2026-07-28',
    '2026-07-28,2025-11-25',
    '2025-11-25, 2026-07-28',
    '２０２６-07-28',
  ].map((value) => inVersion(bytes(value))),
  ...[
    [CURRENT, CURRENT],
    [CURRENT, '2025-11-25'],
    ['2025-11-25', CURRENT],
    ['', CURRENT],
    [CURRENT, ''],
  ].map((values) => values.flatMap(inVersion)),
  ...['mcp-protocol-version', 'MCP_Protocol_Version', 'Mcp-Protocol-Version '].map((name) => [
    `${name}: ${CURRENT}`,
  ]),
];

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
