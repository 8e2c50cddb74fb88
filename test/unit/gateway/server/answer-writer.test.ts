/** Heads of one text are what node:http would have written, on every Node that runs this test. */
import { createServer, ServerResponse } from 'node:http';
import { duplexPair } from 'node:stream';
import { finished } from 'node:stream/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Answer } from '../../../../src/gateway/core/dialect.ts';
import {
  fastestWriter,
  type WriteAnswer,
  writeWithHead,
} from '../../../../src/gateway/server/answer-writer.ts';

const OPTIONS = { keepAliveTimeout: 3_620_000, requireHostHeader: false };
const ALLOW = {
  status: 200,
  headers: ['Cache-Control', 'no-store', 'Content-Length', '0'],
  body: '',
};
const DENY = { status: 429, headers: ['Retry-After', '7', 'Content-Length', '5'], body: '{"a"}' };
const AFTER_IT = 'GET /last HTTP/1.1\r\nConnection: close\r\n\r\n';

const { end } = ServerResponse.prototype;
afterEach(() => {
  ServerResponse.prototype.end = end;
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** What a server sends for a request and one after it, without dates; and the errors of the writer. */
async function answers(write: WriteAnswer, request: string, answer: Answer) {
  const errors: unknown[] = [];
  const server = createServer(OPTIONS, (_message, response) => {
    try {
      write(response, answer);
    } catch (error) {
      errors.push(error);
      far.destroy();
    }
  });
  const [near, far] = duplexPair();
  server.emit('connection', near);
  let sent = '';
  far.setEncoding('latin1').on('data', (bytes) => {
    sent += bytes;
  });
  far.end(`${request}\r\n\r\n${AFTER_IT}`);
  // The server may close the connection before it has read all.
  await finished(far).catch(() => {});
  return { sent: sent.replace(/Date: .*/g, 'Date'), errors };
}

/** How many answers were written with `writeHead`. */
async function answersOf(write: WriteAnswer, request: string, answer: Answer) {
  const writeHead = vi.spyOn(ServerResponse.prototype, 'writeHead');
  const { sent } = await answers(write, request, answer);
  const wholes = writeHead.mock.calls.length;
  return { sent, wholes };
}

const fastest = () => fastestWriter(OPTIONS);

describe('an answer is the same as with writeHead', () => {
  test.each([
    ['an allow', 'GET / HTTP/1.1', ALLOW, 1],
    ['a denial', 'POST / HTTP/1.1\r\nContent-Length: 0', DENY, 1],
    ['a request with a body', 'POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab', DENY, 1],
    ['a HEAD', 'HEAD / HTTP/1.1', DENY, 1],
    ['HTTP/1.0 that keeps its connection', 'GET / HTTP/1.0\r\nConnection: keep-alive', DENY, 1],
    ['HTTP/1.0', 'GET / HTTP/1.0', DENY, 1],
    ['a request that ends its connection', 'GET / HTTP/1.1\r\nConnection: close', DENY, 1],
    ['an expectation', 'POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 0', DENY, 2],
    ['a body beyond ASCII', 'GET / HTTP/1.1', { ...DENY, body: 'é€' }, 2],
    [
      'a header beyond ASCII',
      'GET / HTTP/1.1',
      { ...ALLOW, headers: ['A', 'é\t~', 'Content-Length', '0'] },
      1,
    ],
  ])('%s', async (_, request, answer, wholes) => {
    const plain = await answers(writeWithHead, request, answer);
    const found = await answersOf(await fastest(), request, answer);
    expect(found).toEqual({ sent: plain.sent, wholes });
    expect(plain.sent).toContain(`HTTP/1.1 ${answer.status} `);
  });
});

test.each(['a\r\nB: c', 'a\nb', 'a\0', '€', 'a\x7f'])(
  '%j is no value of a header',
  async (value) => {
    const answer = { ...ALLOW, headers: ['A', value] };
    const { sent, errors } = await answers(await fastest(), 'GET / HTTP/1.1', answer);
    expect(sent).toBe('');
    expect(errors[0]).toMatchObject({ code: 'ERR_INVALID_CHAR' });
  },
);

test('a date is that of its second', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const write = await fastest();
  const heads: unknown[] = [];
  const response = { shouldKeepAlive: true, req: { headers: {} }, end: () => {} };
  for (const now of ['2026-01-01T00:00:00.999Z', '2026-01-01T00:00:01Z', '2026-01-01T00:00:00Z']) {
    vi.setSystemTime(now);
    write(response as unknown as ServerResponse, ALLOW);
    heads.push(/Date: (.*)\r/.exec((response as unknown as { _header: string })._header)?.[1]);
  }
  expect(heads).toEqual([0, 1, 0].map((second) => `Thu, 01 Jan 2026 00:00:0${second} GMT`));
});

describe('a Node that does not send a text as it is has writeHead write every answer', () => {
  const givingUp = new AbortController();

  test.each([
    ['fails', () => expect.fail()],
    ['sends other bytes', (response: ServerResponse) => Reflect.apply(end, response, ['more'])],
    ['sends nothing', () => setImmediate(() => givingUp.abort())],
  ])('because it %s', async (_, endText) => {
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(givingUp.signal);
    ServerResponse.prototype.end = function (this: ServerResponse, ...sent: unknown[]) {
      return sent.length === 0 ? endText(this) : Reflect.apply(end, this, sent);
    } as typeof end;
    expect(await fastest()).toBe(writeWithHead);
  });
});
