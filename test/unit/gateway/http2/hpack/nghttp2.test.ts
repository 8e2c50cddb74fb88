/** Header blocks to and from nghttp2, which Node's HTTP/2 client is made of. */
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  sensitiveHeaders,
} from 'node:http2';
import { type Duplex, duplexPair } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HeaderDecoder } from '../../../../../src/gateway/http2/hpack/decoder.ts';
import { encodeFields, TABLE_SIZE_ZERO } from '../../../../../src/gateway/http2/hpack/encoder.ts';
import {
  STATIC_NAMES,
  STATIC_VALUES,
} from '../../../../../src/gateway/http2/hpack/static-table.ts';
import { ACK, END_STREAM, frame, PREFACE, Type } from '../../../../support/http2-frames.ts';

type Field = readonly [name: string, value: string];

const END_HEADERS = 4;
const PRIORITY = 0x20;
const FRAME_HEADER_LENGTH = 9;
const HEADER_TABLE_SIZE = 1;

/** A server that reads each request with headgate's decoder, and answers it with headgate's encoder. */
class Server {
  readonly #link: Duplex;
  readonly #decoder: HeaderDecoder;
  #received: Buffer = Buffer.alloc(0);
  #preface = PREFACE.length;
  #block: Buffer = Buffer.alloc(0);
  #begins = true;
  /** The fields of each request. */
  readonly requests: Field[][] = [];
  /** The fields of the next answer. */
  answer: readonly Field[] = [];

  constructor(link: Duplex, maxTableBytes: number) {
    this.#link = link;
    this.#decoder = new HeaderDecoder(maxTableBytes);
    link.on('data', (bytes: Buffer) => this.#receive(bytes));
  }

  announce(tableBytes: number): void {
    const setting = Buffer.alloc(6);
    setting.writeUInt16BE(HEADER_TABLE_SIZE);
    setting.writeUInt32BE(tableBytes, 2);
    this.#link.write(frame(Type.settings, 0, 0, setting));
  }

  #receive(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    const skipped = Math.min(this.#preface, this.#received.length);
    this.#received = this.#received.subarray(skipped);
    this.#preface -= skipped;
    while (this.#received.length >= FRAME_HEADER_LENGTH) {
      const end = FRAME_HEADER_LENGTH + this.#received.readUIntBE(0, 3);
      if (this.#received.length < end) return;
      this.#take(this.#received.subarray(0, end));
      this.#received = this.#received.subarray(end);
    }
  }

  #take(bytes: Buffer): void {
    const [type, flags] = [bytes.readUInt8(3), bytes.readUInt8(4)];
    if (type === Type.settings && (flags & ACK) === 0) {
      this.#link.write(frame(Type.settings, ACK, 0));
    }
    if (type !== Type.headers && type !== Type.continuation) return;
    const skipped = type === Type.headers && (flags & PRIORITY) !== 0 ? 5 : 0;
    this.#block = Buffer.concat([this.#block, bytes.subarray(FRAME_HEADER_LENGTH + skipped)]);
    if ((flags & END_HEADERS) === 0) return;
    const fields: Field[] = [];
    this.#decoder.decode(this.#block, (name, value) => fields.push([name, value]));
    this.requests.push(fields);
    this.#block = Buffer.alloc(0);
    this.#respond(bytes.readUInt32BE(5));
  }

  #respond(stream: number): void {
    const fields = encodeFields(this.answer);
    const block = this.#begins ? Buffer.concat([TABLE_SIZE_ZERO, fields]) : fields;
    this.#begins = false;
    this.#link.write(frame(Type.headers, END_HEADERS | END_STREAM, stream, block));
  }
}

interface Pair extends Disposable {
  readonly client: ClientHttp2Session;
  readonly server: Server;
}

const MAX_TABLE_BYTES = 65_536;

/** The client takes as large a table as the server allows. */
async function pairOf(tableBytes: number): Promise<Pair> {
  const [here, there] = duplexPair();
  const server = new Server(there, MAX_TABLE_BYTES);
  const client = connect('http://a', {
    createConnection: () => here,
    maxDeflateDynamicTableSize: MAX_TABLE_BYTES,
    settings: { headerTableSize: 100 },
  });
  const pair = { client, server, [Symbol.dispose]: () => client.destroy() };
  await announce(pair, tableBytes);
  return pair;
}

/** The settings count for requests from now on. */
async function announce({ client, server }: Pair, tableBytes: number): Promise<void> {
  const known = once(client, 'remoteSettings');
  server.announce(tableBytes);
  await known;
}

async function send(client: ClientHttp2Session, fields: OutgoingHttpHeaders) {
  const stream = client.request(fields, { endStream: true });
  stream.resume();
  const [[headers]] = await Promise.all([once(stream, 'response'), once(stream, 'close')]);
  return headers as IncomingHttpHeaders;
}

/** Names that Node does not give a meaning of their own, known and unknown to the static table. */
const NAMES = [
  'accept',
  'cookie',
  'range',
  'referer',
  'user-agent',
  'x-request-id',
  'x-a',
  'grpc-x',
];
const VISIBLE = fc.integer({ min: 0x21, max: 0xff }).filter((code) => code !== 0x7f);
const value = fc.oneof(
  { arbitrary: fc.constantFrom('a', 'trailers', 'x'.repeat(20), 'y'.repeat(1_500)), weight: 3 },
  { arbitrary: fc.uuid(), weight: 1 },
  {
    arbitrary: fc.string({ unit: VISIBLE.map((code) => String.fromCharCode(code)), maxLength: 80 }),
    weight: 2,
  },
  { arbitrary: fc.integer({ min: 1, max: 3_000 }).map((length) => 'z'.repeat(length)), weight: 1 },
);
const request = fc.record({
  path: fc.constantFrom('/', '/index.html', '/envoy.service.auth.v3.Authorization/Check', '/é'),
  fields: fc.uniqueArray(fc.tuple(fc.constantFrom(...NAMES), value), {
    selector: ([name]) => name,
  }),
  sensitive: fc.subarray(NAMES),
});
const size = fc.constantFrom(0, 64, 100, 4_096, 65_536);
const steps = fc.array(
  fc.oneof({ arbitrary: request, weight: 6 }, { arbitrary: size, weight: 1 }),
  { minLength: 1, maxLength: 25 },
);

test('what nghttp2 writes is read, whatever table it is allowed', async () => {
  await fc.assert(
    fc.asyncProperty(size, steps, async (first, rest) => {
      using pair = await pairOf(first);
      const { client, server } = pair;
      server.answer = [[':status', '200']];
      const sent: Field[][] = [];
      for (const step of rest) {
        if (typeof step === 'number') {
          await announce(pair, step);
          continue;
        }
        const fields: Field[] = [
          ...([
            [':method', 'POST'],
            [':path', step.path],
            [':scheme', 'http'],
            [':authority', 'a'],
          ] as const),
          ...step.fields,
        ];
        sent.push(fields);
        const headers = { ...Object.fromEntries(fields), [sensitiveHeaders]: step.sensitive };
        await send(client, headers);
      }
      expect(server.requests).toEqual(sent);
    }),
    { numRuns: 60 },
  );
});

/** nghttp2 refuses these with the empty value that the static table has. */
const REFUSED = ['content-length', 'transfer-encoding'];

test('nghttp2 has the same fields for the numbers of the static table', async () => {
  using pair = await pairOf(0);
  const { client, server } = pair;
  const known = STATIC_NAMES.map((name, i): Field => [name, STATIC_VALUES[i] as string]);
  const others = known.filter(([name]) => /^[a-z]/.test(name) && !REFUSED.includes(name));
  const statuses = known.filter(([name]) => name === ':status');
  expect([statuses.length, others.length]).toEqual([7, 45]);
  for (const status of statuses) {
    server.answer = [status, ...others];
    expect(encodeFields(server.answer)).toHaveLength(1 + others.length);
    const headers = await send(client, { ':path': '/' });
    const expected = [[':status', Number(status[1])], ...others];
    expect(Object.entries(headers).map(([name, value]) => [name, firstOf(value)])).toEqual(
      expected,
    );
  }
});

/** Node makes a list of `set-cookie`. */
function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

test('nghttp2 reads what is written to it', async () => {
  const answered = fc.tuple(
    fc.constantFrom('200', '204', '302', '503'),
    fc.uniqueArray(fc.tuple(fc.constantFrom('content-type', 'grpc-status', 'x-b', 'via'), value), {
      selector: ([name]) => name,
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(answered, { maxLength: 8 }), async (answers) => {
      using pair = await pairOf(MAX_TABLE_BYTES);
      const { client, server } = pair;
      for (const [status, fields] of answers) {
        server.answer = [[':status', status], ...fields];
        const headers = await send(client, { ':path': '/' });
        expect(Object.entries(headers)).toEqual([...[[':status', Number(status)]], ...fields]);
      }
    }),
    { numRuns: 60 },
  );
});
