/** Requests that no honest proxy sends, the same ones for a seed. Texts here are Latin-1: one character a byte. */

export interface HostileRequest {
  /** Its family, and with the seed all that it takes to see the same bytes again. */
  readonly name: string;
  readonly number: number;
  readonly bytes: Buffer;
  /** No reading of RFC 9112 makes a request of it: it must never be allowed. False wherever a server has a choice. */
  readonly unparsable: boolean;
}

/** Whole numbers from 0 to before `below`. */
type Random = (below: number) => number;

interface Made {
  readonly text: string;
  readonly unparsable: boolean;
}

type Family = (random: Random) => Made;

const arguable = (text: string): Made => ({ text, unparsable: false });
const unparsable = (text: string): Made => ({ text, unparsable: true });

export function* hostileRequests(seed: number, count: number): Generator<HostileRequest> {
  const families = Object.entries(FAMILIES);
  for (let number = 0; number < count; number++) {
    const [name, family] = families[number % families.length] as [string, Family];
    // Each has numbers of its own, so that changing one family leaves the others what they were.
    const made = family(randomFrom(seed * 0x9e3779b1 + number));
    const bytes = Buffer.from(made.text, 'latin1');
    yield { name, number, bytes, unparsable: made.unparsable };
  }
}

/** Always the same numbers for a seed (mulberry32). */
function randomFrom(seed: number): Random {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[random(choices.length)] as T;
}

function times<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}

const char = (code: number) => String.fromCharCode(code);
const utf8 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

/** A request before it becomes bytes; `fields` are whole lines. */
interface Draft {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly fields: readonly string[];
}

const CLIENTS = 4_096;

/** Enough clients that limits are seldom reached: a denial would hide what should not have been allowed. */
function addressOf(client: number): string {
  return `10.77.${(client >> 8) & 255}.${client & 255}`;
}

/** What a proxy would send for an ordinary request to `path`. */
function draft(random: Random, path = pick(random, PLAIN_PATHS)): Draft {
  return random(2) === 0 ? envoyDraft(random, path) : nginxDraft(random, path);
}

const PLAIN_PATHS = ['/a', '/api/items/7?page=2', '/static/app.js', '/v1/users', '/'];

function envoyDraft(random: Random, path: string): Draft {
  const fields = [
    'Host: shop.example',
    `X-Headgate-Client-IP: ${addressOf(random(CLIENTS))}`,
    ...commonFields(random),
  ];
  const method = pick(random, ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']);
  return { method, target: `/envoy${path}`, version: 'HTTP/1.1', fields };
}

function nginxDraft(random: Random, path: string): Draft {
  const fields = [
    'Host: shop.example',
    `X-Real-IP: ${addressOf(random(CLIENTS))}`,
    `X-Original-Method: ${pick(random, ['GET', 'POST', 'HEAD'])}`,
    `X-Original-URI: ${path}`,
    ...commonFields(random),
  ];
  return { method: 'GET', target: '/nginx', version: 'HTTP/1.1', fields };
}

function commonFields(random: Random): string[] {
  const fields = ['Accept: */*', 'User-Agent: probe/1'];
  if (random(4) === 0) fields.push(`X-Api-Key: key-${random(CLIENTS)}`);
  if (random(4) === 0) fields.push('X-Forwarded-For: 203.0.113.9, 198.51.100.2');
  return fields;
}

function written({ method, target, version, fields }: Draft, body = ''): string {
  return linesWritten([`${method} ${target} ${version}`, ...fields], body);
}

function linesWritten(lines: readonly string[], body = ''): string {
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** A draft with lines more, not always the last ones. */
function withFields(random: Random, base: Draft, ...added: readonly string[]): Draft {
  const fields = [...base.fields];
  fields.splice(random(fields.length + 1), 0, ...added);
  return { ...base, fields };
}

function post(random: Random, ...added: readonly string[]): Draft {
  return withFields(random, { ...draft(random), method: 'POST' }, ...added);
}

/** Nothing is a request of HTTP/1.x that does not say so somewhere. */
function certainlyNone(text: string): Made {
  return text.includes('HTTP/1.') ? arguable(text) : unparsable(text);
}

const FAMILIES: Readonly<Record<string, Family>> = {
  'request line: no version': (random) => {
    const { method, target, fields } = draft(random);
    return unparsable(linesWritten([`${method} ${target}${pick(random, ['', ' '])}`, ...fields]));
  },
  'request line: bad version': (random) =>
    unparsable(written({ ...draft(random), version: pick(random, BAD_VERSIONS) })),
  // Node's parser also speaks these and tells nobody, so they are questions like any other: counted, and answered.
  'request line: RTSP and ICE': (random) => {
    const [method, version] = pick(random, [
      ...['GET', 'POST', 'OPTIONS', 'DESCRIBE', 'PLAY'].map((each) => [each, 'RTSP/1.0'] as const),
      ['SOURCE', 'ICE/1.0'],
    ] as const);
    return arguable(written({ ...draft(random), method, version }));
  },
  'request line: another minor version': (random) =>
    arguable(written({ ...draft(random), version: `HTTP/1.${pick(random, [0, 2, 9])}` })),
  'request line: HTTP/2 preface': (random) => {
    const frames = times(random(40), () => char(random(256))).join('');
    return unparsable(`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${frames}`);
  },
  'request line: odd white space': (random) => {
    const { method, target, version, fields } = draft(random);
    const gap = () => pick(random, [' ', '  ', '\t', '\v', '\f', ' \t ', '\r', ' '.repeat(900)]);
    const line = `${pick(random, ['', ' ', '\t'])}${method}${gap()}${target}${gap()}${version}`;
    return arguable(linesWritten([line + pick(random, ['', ' ', '\t']), ...fields]));
  },
  'request line: more than three words': (random) => {
    const base = draft(random);
    const word = pick(random, ['x', 'HTTP/1.1', '/b', 'GET']);
    return unparsable(written({ ...base, target: `${base.target} ${word}` }));
  },
  'request line: lines end with CR': (random) =>
    unparsable(written(draft(random)).replaceAll('\r\n', '\r')),
  'request line: lines end with LF': (random) => {
    const text = written(draft(random));
    return arguable(text.replace(/\r\n/g, () => pick(random, ['\n', '\r\n'])));
  },
  'request line: control bytes in the method': (random) => {
    const base = draft(random);
    return unparsable(written({ ...base, method: inserted(random, base.method, control(random)) }));
  },
  'request line: control bytes in the target': (random) => {
    const base = draft(random);
    return unparsable(written({ ...base, target: inserted(random, base.target, control(random)) }));
  },
  'request line: unusual method': (random) =>
    arguable(written({ ...draft(random), method: pick(random, UNUSUAL_METHODS) })),
  'request line: no method': (random) =>
    unparsable(written({ ...draft(random), method: pick(random, NO_METHODS) })),
  'request line: long target': (random) => {
    const length = pick(random, [8_000, 60_000, 65_400, 66_000, 200_000]) + random(200);
    const filling = pick(random, ['a', 'a/', '?a=', '../', '%41', ';', '//']);
    return arguable(written(draft(random, `/${filling.repeat(length / filling.length)}`)));
  },

  'headers: thousands of short ones': (random) => {
    const name = pick(random, [() => 'a', (i: number) => `x-${i}`, (i: number) => `${i}`]);
    const count = 500 + random(8_000);
    const flood = Array.from({ length: count }, (_, i) => `${name(i)}: ${random(10)}`);
    return arguable(written(withFields(random, draft(random), ...flood)));
  },
  'headers: more than 64 KiB': (random) => {
    const size = pick(random, [64_500, 65_000, 65_536, 70_000, 150_000]) + random(600);
    const name = pick(random, ['Cookie', 'X-Api-Key', 'X-Forwarded-For', 'X-Real-IP', 'Host']);
    const flood = random(8) === 0 ? 'n'.repeat(size) : `${name}: ${'1,'.repeat(size / 2)}`;
    return arguable(written(withFields(random, draft(random), flood)));
  },
  'headers: one twice': (random) => {
    const name = pick(random, SINGLE_FIELDS);
    const values = times(2 + random(3), () => pick(random, TWICE_VALUES));
    return arguable(
      written(withFields(random, draft(random), ...values.map((each) => `${name}: ${each}`))),
    );
  },
  'headers: control bytes in a name': (random) => {
    const name = inserted(random, 'X-Odd', pick(random, ['\r', '\n', '\0', control(random)]), 1);
    return unparsable(written(withFields(random, draft(random), `${name}: v`)));
  },
  'headers: control bytes in a value': (random) => {
    const name = pick(random, SINGLE_FIELDS);
    const value = inserted(random, 'value', pick(random, ['\r', '\n', '\0', control(random)]));
    return arguable(written(withFields(random, draft(random), `${name}: ${value}`)));
  },
  'headers: folded': (random) => {
    const name = pick(random, SINGLE_FIELDS);
    const rest = `${pick(random, [' ', '\t', ' \t '])}${pick(random, TWICE_VALUES)}`;
    return arguable(written(withFields(random, draft(random), `${name}: a`, rest)));
  },
  'headers: space before a colon': (random) => {
    const name = pick(random, SINGLE_FIELDS);
    const gap = pick(random, [' ', '\t', '  ', ' \t']);
    return unparsable(written(withFields(random, draft(random), `${name}${gap}: a`)));
  },
  'headers: no name': (random) =>
    unparsable(written(withFields(random, draft(random), pick(random, NAMELESS_LINES)))),
  'headers: bytes that are no UTF-8': (random) => {
    const bytes = times(1 + random(60), () => char(0x80 + random(128))).join('');
    const name = pick(random, SINGLE_FIELDS);
    return arguable(
      random(2) === 0
        ? written(draft(random, `/${bytes}`))
        : written(withFields(random, draft(random), `${name}: ${bytes}`)),
    );
  },
  'names that every object has': (random) => {
    const word = pick(random, OBJECT_WORDS);
    const base = random(3) === 0 ? draft(random, `/${word}/${word}?${word}=1`) : draft(random);
    const name = random(2) === 0 ? word : pick(random, ['X-Original-Method', ...SINGLE_FIELDS]);
    return arguable(written(withoutField(name, base, `${name}: ${pick(random, OBJECT_WORDS)}`)));
  },
  'a method that is text of NGINX': (random) => {
    const method = pick(random, [...OBJECT_WORDS, ...UNUSUAL_METHODS, ...NAUGHTY_TEXTS.map(utf8)]);
    const base = nginxDraft(random, '/a');
    return arguable(
      written(withoutField('X-Original-Method', base, `X-Original-Method: ${method}`)),
    );
  },

  'lengths: that contradict': (random) => {
    const first = random(20);
    const second = first + 1 + random(20);
    const added =
      random(2) === 0
        ? [`Content-Length: ${first}`, `Content-Length: ${second}`]
        : [`Content-Length: ${first}, ${second}`];
    return unparsable(written(post(random, ...added), 'x'.repeat(second)));
  },
  'lengths: repeated': (random) =>
    arguable(
      written(
        random(2) === 0
          ? post(random, 'Content-Length: 5', 'Content-Length: 5')
          : post(random, 'Content-Length: 5, 5'),
        'hello',
      ),
    ),
  'lengths: no number': (random) =>
    unparsable(written(post(random, `Content-Length:${pick(random, NO_LENGTHS)}`), 'hello')),
  'lengths: odd but a number': (random) =>
    arguable(written(post(random, `Content-Length:${pick(random, ODD_LENGTHS)}`), 'hello')),
  'smuggling: length and chunks': (random) => {
    const hidden = written(draft(random));
    const both = ['Content-Length: 4', `Transfer-Encoding: ${pick(random, ODD_CHUNKED)}`];
    const added = random(2) === 0 ? both : both.toReversed();
    const body = pick(random, [`0\r\n\r\n${hidden}`, `5c\r\n${hidden}\r\n0\r\n\r\n`]);
    return arguable(written(post(random, ...added), body));
  },
  'smuggling: two transfer encodings': (random) => {
    const added = [`Transfer-Encoding: ${pick(random, ODD_CHUNKED)}`, 'Transfer-Encoding: chunked'];
    return arguable(written(post(random, ...added), `0\r\n\r\n${written(draft(random))}`));
  },
  'smuggling: chunks are not the last encoding': (random) => {
    const coding = pick(random, ['xchunked', 'identity', 'gzip', 'chunked, identity', 'chunkedx']);
    const split = coding.split(', ').map((each) => `Transfer-Encoding: ${each}`);
    const added = random(2) === 0 ? split : [`Transfer-Encoding: ${coding}`];
    return unparsable(written(post(random, ...added), '0\r\n\r\n'));
  },
  'smuggling: more than was announced': (random) => {
    const length = random(8);
    const body = `hello${written(draft(random))}`;
    return arguable(written(post(random, `Content-Length: ${length}`), body));
  },
  'chunks: malformed': (random) => {
    const body = pick(random, ODD_CHUNKS)(random);
    return arguable(written(post(random, 'Transfer-Encoding: chunked'), body));
  },

  'target: absolute': (random) => {
    const base = draft(random);
    const origin = pick(random, ODD_ORIGINS);
    if (random(2) === 0) return arguable(written({ ...base, target: origin + base.target }));
    return arguable(written(nginxDraft(random, `${origin}/api/auth/login`)));
  },
  'target: authority': (random) => {
    const target = pick(random, ['shop.example:443', '[::1]:80', '/envoy:443', ':', '127.0.0.1:0']);
    const method = pick(random, ['CONNECT', 'CONNECT', 'GET']);
    const body = pick(random, ['', 'tunnelled', written(draft(random))]);
    return arguable(written({ ...draft(random), method, target }, body));
  },
  'target: asterisk': (random) => {
    const target = pick(random, ['*', '/envoy*', '/envoy/*', '**']);
    return arguable(
      written({ ...draft(random), method: pick(random, ['OPTIONS', 'GET']), target }),
    );
  },
  'target: odd escapes': (random) => {
    const parts = times(1 + random(30), () => pick(random, ODD_ESCAPES));
    const repeated = parts.join('').repeat(pick(random, [1, 1, 1, 20, 200]));
    return arguable(written(draft(random, `/${repeated}`.slice(0, 50_000))));
  },
  'target: control bytes that are escaped': (random) =>
    arguable(written(draft(random, `/a${pick(random, ['%00', '%0d%0a', '%250a', '%2500'])}b`))),
  'a wish to speak otherwise': (random) => {
    const base = withFields(random, draft(random), ...pick(random, ODD_WISHES));
    return arguable(written(base, pick(random, ['', 'x', '\0\xff\0', written(draft(random))])));
  },
  'texts that trip programs up': (random) => {
    const text = utf8(pick(random, NAUGHTY_TEXTS));
    if (random(2) === 0) return arguable(written(draft(random, `/${text.replaceAll(' ', '%20')}`)));
    const name = pick(random, SINGLE_FIELDS);
    return arguable(written(withoutField(name, draft(random), `${name}: ${text}`)));
  },

  'pipelined: a good one first': (random) => {
    const [, second] = pick(random, Object.entries(FAMILIES));
    return arguable(written(draft(random)) + second(random).text);
  },
  'pipelined: a bad one first': (random) => {
    const first = FAMILIES[pick(random, BAD_FIRSTS)] as Family;
    return unparsable(first(random).text + written(draft(random)));
  },
  'pipelined: dozens': (random) =>
    arguable(times(20 + random(100), () => written(draft(random))).join('')),
  'truncated in its head': (random) => {
    const text = written(draft(random));
    return unparsable(text.slice(0, 1 + random(text.length - 1)));
  },
  'truncated in its body': (random) =>
    arguable(
      random(2) === 0
        ? written(post(random, `Content-Length: ${1 + random(1e6)}`))
        : written(post(random, 'Transfer-Encoding: chunked'), '1f\r\nhel'),
    ),
  'mutated bytes': mutated,
  'mutated bytes, again': mutated,
  'random bytes': (random) => {
    const [least, most] = pick(random, [
      [0, 256],
      [0x20, 0x7f],
      [0, 0x20],
    ] as const);
    const make = () => (random(20) === 0 ? '\r\n' : char(least + random(most - least)));
    return certainlyNone(times(1 + random(2_000), make).join(''));
  },
  'nothing but line ends': (random) =>
    unparsable(pick(random, ['\r\n', '\n', '\r']).repeat(1 + random(3_000))),
  'another protocol': (random) => unparsable(pick(random, OTHER_PROTOCOLS)(random)),
};

/** Those that stay what they are whatever follows them. */
const BAD_FIRSTS = [
  'request line: no version',
  'request line: bad version',
  'headers: space before a colon',
  'headers: no name',
  'lengths: that contradict',
  'lengths: no number',
] as const;

/** HTTP-version is `HTTP/` and a digit, a point, a digit; and another first digit is another syntax. */
const BAD_VERSIONS = [
  ...['HTTP/1', 'HTTP/1.', 'HTTP/.1', 'HTTP/11', 'HTTP/1.10', 'HTTP/01.1', 'HTTP/1,1', 'HTTP/1.x'],
  ...['http/1.1', 'Http/1.1', 'HTTPS/1.1', 'HTP/1.1', 'HTTP\\1.1', 'HTTP/-1.1', 'HTTP/', 'HTTP'],
  ...['RTSP/9.9', 'ICY', 'SIP/2.0', '1.1', '\0', 'HTTP/1.1\0', 'HTTP/1.1;', 'HTTP/1.\xb9'],
  ...['HTTP/0.9', 'HTTP/2.0', 'HTTP/2', 'HTTP/3.0', 'HTTP/9.9'],
];

const UNUSUAL_METHODS = [
  ...['get', 'Post', 'hEaD', 'BREW', 'PRI', 'DESCRIBE', 'SOURCE', 'M-SEARCH', 'QUERY', 'TRACE'],
  ...["!#$%&'*+-.^_`|~", 'X'.repeat(5_000), '0', 'GETGET', 'PROPFIND', 'LINK', 'HTTP', 'ANNOUNCE'],
];

/** Texts without any token in the place of the method. */
const NO_METHODS = ['', '"GET"', 'G@T', '(GET)', 'GET,POST', 'G\xc9T', '{}', '/', '[', 'GET:', '='];

/** Fields that mean something to the gateway or to HTTP, and should occur once. */
const SINGLE_FIELDS = [
  ...['Host', 'X-Api-Key', 'X-Real-IP', 'X-Original-URI', 'X-Original-Method', 'X-Forwarded-For'],
  ...['X-Headgate-Client-IP', 'X-Headgate-Peer-IP', 'CF-Connecting-IP', 'Content-Type', 'Cookie'],
];

const TWICE_VALUES = [
  ...['', 'a', 'b', '127.0.0.1', '::1', '203.0.113.7', '2001:db8::1', '1.2.3.4, 5.6.7.8', ','],
  ...[
    '/api/auth/login',
    '/../..',
    'POST',
    'evil.example',
    '::ffff:10.0.0.1',
    '0x7f.1',
    'fe80::1%eth0',
  ],
];

const NAMELESS_LINES = [
  ...[': v', ':', '::', 'no colon at all', '(a): v', 'a b: v', 'a@b: v', 'n\xe4me: v', '\xff: v'],
  ...[
    '"X": v',
    'a/b: v',
    'a,b: v',
    '{}: v',
    'GET /envoy/b HTTP/1.1',
    '=: v',
    '\x7f: v',
    '\xc3\xa9: v',
  ],
];

const OBJECT_WORDS = [
  ...['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', 'valueOf', 'length'],
  ...['__defineGetter__', '__lookupSetter__', 'isPrototypeOf', 'toLocaleString', 'then', 'toJSON'],
];

/** Content-Length is digits and nothing else. */
const NO_LENGTHS = [
  ...[
    '',
    ' ',
    ' -1',
    ' +5',
    ' 5 5',
    ' 0x5',
    ' 5;',
    ' 1e1',
    ' 5.0',
    ' five',
    ' 5\xb2',
    ' "5"',
    ' 5x',
  ],
  ...[' -0', ' --5', ' 5-', ' \xef\xbc\x95', ' NaN', ' Infinity', ' 5, x', ' ,x'],
];

const ODD_LENGTHS = [
  ...[
    '5',
    ' 5 ',
    '\t5\t',
    ' 05',
    ` ${'0'.repeat(300)}5`,
    ' 9007199254740993',
    ` ${'9'.repeat(300)}`,
  ],
  ...[' 18446744073709551615', ' 18446744073709551616', ' 18446744073709551621', ' 4294967301'],
];

/** What some servers take for `chunked` and others do not. */
const ODD_CHUNKED = [
  ...[
    'chunked',
    'Chunked',
    ' chunked ',
    'xchunked',
    'chunked, chunked',
    'chunked;q=1',
    '"chunked"',
  ],
  ...[
    '\vchunked',
    '\tchunked',
    'chunked\t',
    'gzip, chunked',
    'identity',
    ',chunked',
    'chunked,',
    '',
  ],
  ...['x\r\n chunked', 'chunked\0', 'chun\0ked', 'chunked\r\n\t', 'cow'],
];

const ODD_CHUNKS: readonly ((random: Random) => string)[] = [
  () => 'xyz\r\nhello\r\n0\r\n\r\n',
  () => '-5\r\nhello\r\n0\r\n\r\n',
  () => '0x5\r\nhello\r\n0\r\n\r\n',
  () => '+5\r\nhello\r\n0\r\n\r\n',
  () => ' 5\r\nhello\r\n0\r\n\r\n',
  () => '5 \r\nhello\r\n0\r\n\r\n',
  () => '\r\nhello\r\n0\r\n\r\n',
  () => ';\r\nhello\r\n0\r\n\r\n',
  () => '5\nhello\n0\n\n',
  () => '5\rhello\r0\r\r',
  () => '5\r\nhelloXX\r\n0\r\n\r\n',
  () => '5;\0=\n\r\nhello\r\n0\r\n\r\n',
  (random) => `${pick(random, ['f', 'F', '1', '8'])}${'f'.repeat(15 + random(40))}\r\nhello`,
  (random) => `${'0'.repeat(1 + random(40_000))}5\r\nhello\r\n0\r\n\r\n`,
  (random) => `5;${'e'.repeat(random(90_000))}=v\r\nhello\r\n0\r\n\r\n`,
  (random) => `${'1;a\r\nx\r\n'.repeat(random(9_000))}0\r\n\r\n`,
  (random) => `0\r\n${'T: v\r\n'.repeat(random(20_000))}\r\n`,
  () => '0\r\nHost: other\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\n\r\n',
  () => '0\r\nbad trailer\r\n\r\n',
];

const ODD_ORIGINS = [
  ...[
    'http://shop.example',
    'https://a:b@shop.example:65536',
    'http://',
    'http://[::1',
    'HTTP://x',
  ],
  ...['ftp://x', 'javascript://x', '//x', '///', 'http:/x', 'a+b-c.d://', '://', 'http://a@b@c'],
  ...['http:', 'file://', `http://${'h'.repeat(9_000)}`, 'http://%00', 'http://\xff'],
];

const ODD_ESCAPES = [
  ...['%', '%%', '%2', '%zz', '%u002f', '%2f', '%2F', '%252f', '%25252525252f', '%5c', '%c0%af'],
  ...['%e0%80%af', '%f0%80%80%af', '%ff', '%ed%a0%80', '%f0%9f%98%80', '%f4%90%80%80', '%c0%80'],
  ...['%2e%2e%2f', '%2e', '..;/', '/../', '//', '\\', ';', '?', '#', '%3f', '%23', '%20', '+', '*'],
  ...[':name', '%7f', '%1b[2J', '%2525', 'api', 'auth', 'LOGIN', '%C4%B0', '\xc4\xb0', '%', '%25'],
];

const ODD_WISHES = [
  ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'],
  ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
  ['Connection: Upgrade', 'Upgrade: TLS/1.0, HTTP/1.1'],
  ['Upgrade: '],
  ['Expect: 100-continue'],
  ['Expect: 100-continue', 'Content-Length: 1000000'],
  ['Expect: 200-ok'],
  ['Expect: 100-continue, x', 'Expect: 100-continue'],
  ['Connection: close, keep-alive, Host, X-Real-IP, X-Headgate-Client-IP'],
  ['Connection: keep-alive', 'Connection: close', 'Keep-Alive: timeout=-1, max=NaN'],
  ['Proxy-Connection: keep-alive', 'TE: trailers, deflate;q=99', 'Trailer: Host'],
  ['Range: bytes=0-,-1,9-1', 'If-Range: "', 'If-Match: *'],
  ['X-HTTP-Method-Override: DELETE', 'X-Original-URL: /admin', 'X-Rewrite-URL: /admin'],
  ['Accept-Version: 99.x', 'Accept: \xff/\xff', 'Content-Type: __proto__'],
];

/** Characters that change length, order or meaning on their way through a program. */
const NAUGHTY_TEXTS = [
  '\u202egnp.exe\u202c',
  'a\u200b\u200d\u2060\ufeffb',
  `z${'\u0337\u0321\u035c\u0489'.repeat(200)}`,
  '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466}'.repeat(20),
  '\u0130\u0131\u212a\u017f\u1e9e\ufb03',
  'caf\u00e9 cafe\u0301',
  '\uff0fapi\uff0fauth\uff0flogin\u2215\u2044',
  '\u2028\u2029\u0085\u00a0\u3000',
  '\uffff\ufffe\u{10ffff}\ufffd\ufdd0',
  '\u0661\u0662\u0663 \u0967 \u00b2',
  '\ud55c\uae00 \u65e5\u672c\u8a9e \u0639\u0631\u0628\u064a \u05e2\u05d1\u05e8\u05d9\u05ea',
  '%s%n%x%p%1$*2$d',
  '{{7*7}}#{7*7}<%=7*7%>',
  '$(id);`id`|id&&id',
  '"><svg onload=alert(1)>',
  "' OR ''='; -- ",
  '../../../../etc/passwd',
  'null undefined NaN Infinity -0 1e309 true',
  '\\u0000\\x00\\0\\n',
  '{"__proto__":{"verdict":"allow"}}',
  'hg:v1:reset * {tag} ~ | "quoted"',
];

const OTHER_PROTOCOLS: readonly ((random: Random) => string)[] = [
  clientHello,
  clientHello,
  clientHello,
  () => 'SSH-2.0-probe\r\n',
  () => 'EHLO probe.example\r\nMAIL FROM:<a@b>\r\n',
  () => '*1\r\n$4\r\nPING\r\n',
  () => '\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50',
  () => '\0\0\0\x08\x04\xd2\x16\x2f',
  (random) => `PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n${written(draft(random))}`,
  (random) => `\r\n\r\n\0\r\nQUIT\n!\x11\0\x0c${'\x7f\0\0\x01'.repeat(2)}${written(draft(random))}`,
  (random) => `HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n${written(draft(random))}`,
  () => '<?xml version="1.0"?><a/>\r\n\r\n',
  () => '{"jsonrpc":"2.0","method":"x","id":1}\n',
];

/** What a browser says first that was told to speak TLS here. */
function clientHello(random: Random): string {
  const number = (value: number, bytes: number) =>
    times(bytes, () => 0)
      .map((_, i) => char((value >> (8 * (bytes - 1 - i))) & 255))
      .join('');
  const sized = (text: string, bytes: number) => number(text.length, bytes) + text;
  const noise = (length: number) => times(length, () => char(random(256))).join('');
  const name = sized(`\0${sized('shop.example', 2)}`, 2);
  const protocols = sized(sized('h2', 1) + sized('http/1.1', 1), 2);
  const extensions = `\0\0${sized(name, 2)}\0\x10${sized(protocols, 2)}`;
  const ciphers = sized(noise(2 * (1 + random(30))), 2);
  const hello = `\x03\x03${noise(32)}${sized(noise(32), 1)}${ciphers}\x01\0${sized(extensions, 2)}`;
  return `\x16\x03\x01${sized(`\x01${sized(hello, 3)}`, 2)}`;
}

/** A good request with a few bytes changed, dropped, doubled or added. */
function mutated(random: Random): Made {
  let text = written(post(random, 'Content-Length: 5'), 'hello');
  for (let left = 1 + random(8); left > 0; left--) {
    const at = random(text.length);
    const end = at + random(12);
    const byte = char(random(256));
    text = pick(random, [
      () => text.slice(0, at) + byte + text.slice(at + 1),
      () => text.slice(0, at) + byte + text.slice(at),
      () => text.slice(0, at) + text.slice(end),
      () => text.slice(0, end) + text.slice(at),
    ])();
  }
  return certainlyNone(text);
}

/** The text with another somewhere in it, not before `from` nor at its end. */
function inserted(random: Random, text: string, other: string, from = 0): string {
  const at = from + random(text.length - from);
  return text.slice(0, at) + other + text.slice(at);
}

/** A control byte that nobody takes for white space. */
function control(random: Random): string {
  return pick(random, [0, 1, 2, 7, 8, 0x0e, 0x1b, 0x1f, 0x7f].map(char));
}

/** A draft in which this line is the only one of its name. */
function withoutField(name: string, base: Draft, line: string): Draft {
  const prefix = `${name.toLowerCase()}:`;
  const others = base.fields.filter((each) => !each.toLowerCase().startsWith(prefix));
  return { ...base, fields: [...others, line] };
}
