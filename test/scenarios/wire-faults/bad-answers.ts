/** What a server may answer that is no answer of the script, and what a gateway has to make of it. */
import type { StoreErrorReason } from '../../../src/gateway/core/counting/store.ts';
import {
  bulk,
  type Fault,
  numbers,
  type Question,
  quotasOf,
  staying,
  takeReply,
} from '../../support/fake-redis.ts';

export interface BadAnswer {
  readonly name: string;
  /** Makes a new one: it may have a memory. */
  readonly fault?: () => Fault;
  /** Said again and again, to nothing asked. */
  readonly says?: string;
  /** Meets new connections only. */
  readonly meets?: 'handshakes';
  /**
   * Why round trips fail, by /metrics: one of these for sure. Any that is late, or finds no connection, says that, and
   * nobody is to blame.
   */
  readonly reasons: readonly StoreErrorReason[];
  /** Whether requests are counted by the store meanwhile; by default none is. */
  readonly during?: 'measured' | 'either';
  readonly holdMs?: number;
}

const WINDOW_MS = 3_600_000;
/** Longer than a gateway listens to a connection that says nothing. */
const SILENCE_MS = 700;

/** To the script that counts. */
const take = (bytes: string | Buffer | ((question: Question) => string)) => () =>
  reply('take', bytes);

function reply(name: string, bytes: string | Buffer | ((question: Question) => string)): Fault {
  const same = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
  return (question) => {
    if (question.name !== name) return false;
    const said = typeof same === 'function' ? Buffer.from(same(question), 'latin1') : same;
    question.socket.write(said);
    return true;
  };
}

/** Then the connection ends. */
function replyAndEnd(name: string, bytes: string): Fault {
  return ({ name: asked, socket }) => {
    if (asked !== name) return false;
    socket.end(Buffer.from(bytes, 'latin1'));
    return true;
  };
}

/** So much, and then nothing any more on that connection: answers have their order. */
function fallSilent(command: string, bytes = ''): () => Fault {
  return () =>
    ({ name, socket, fallSilent }) => {
      if (name !== command) return false;
      fallSilent();
      socket.write(Buffer.from(bytes, 'latin1'));
      return true;
    };
}

/** The true answers so much later, and what else comes with them. */
function later(lateMs: number, change: (answer: string, n: number) => string) {
  return (): Fault => {
    let n = 0;
    return ({ name, answer, socket }) => {
      if (name !== 'take') return false;
      const said = change(answer, n++);
      setTimeout(() => socket.writable && socket.write(said, 'latin1'), lateMs);
      return true;
    };
  };
}

/** What the script could have said, but for one thing. */
function almost(change: (own: number[], limit: number) => number[]) {
  return take(({ words }) => {
    const limit = quotasOf(words)[0]?.limit ?? 0;
    return numbers(change(takeReply(words), limit));
  });
}

const SCRIPT = 'script: 5b1f0e6a, on @user_script:1.';
const SCRIPT_6 =
  'ERR Error running script (call to f_5b1f0e6a): @user_script:1: @user_script: 1: -';
const OOM = "OOM command not allowed when used memory > 'maxmemory'.";
const READONLY = "READONLY You can't write against a read only replica.";
const WRONGTYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';

/** A refusal of the server, and its reason. Inside of a script Redis 6.2 has more to say. */
const REFUSALS: readonly (readonly [string, StoreErrorReason])[] = [
  ['LOADING Redis is loading the dataset in memory', 'loading'],
  [READONLY, 'readonly'],
  [`${READONLY} ${SCRIPT}`, 'readonly'],
  [`${SCRIPT_6}${READONLY}`, 'readonly'],
  [OOM, 'oom'],
  [`ERR ${OOM} ${SCRIPT}`, 'oom'],
  [`${SCRIPT_6}${OOM}`, 'oom'],
  ['BUSY Redis is busy running a script. You can only call SCRIPT KILL.', 'busy'],
  ['MISCONF Redis is configured to save RDB snapshots', 'misconf'],
  ['CLUSTERDOWN The cluster is down', 'clusterdown'],
  ['MASTERDOWN Link with MASTER is down', 'clusterdown'],
  ['TRYAGAIN Multiple keys request during rehashing of slot', 'clusterdown'],
  ['NOSCRIPT No matching script. Please use EVAL.', 'noscript'],
  ["NOPERM this user has no permissions to run the 'evalsha' command", 'noperm'],
  ['NOAUTH Authentication required.', 'noperm'],
  ['WRONGPASS invalid username-password pair or user is disabled.', 'wrongpass'],
  [WRONGTYPE, 'wrongtype'],
  [`${WRONGTYPE} ${SCRIPT}`, 'wrongtype'],
  [`${SCRIPT_6}${WRONGTYPE}`, 'wrongtype'],
  [`ERR user_script:1: Script attempted to access nonexistent global variable ${SCRIPT}`, 'other'],
  ["ERR unknown command 'EVALSHA'", 'other'],
  ['EXECABORT Transaction discarded because of previous errors.', 'other'],
  ['NOREPLICAS Not enough good replicas to write.', 'other'],
  ['MOVED 1 127.0.0.1:1', 'other'],
  ['', 'other'],
];

const refusals: BadAnswer[] = REFUSALS.map(([line, reason]) => ({
  name: `-${line}`,
  fault: take(`-${line}\r\n`),
  reasons: [reason],
}));

/** RESP as it should be, of what the script never returns. */
const WELL_FORMED: Readonly<Record<string, () => Fault>> = {
  'an integer': take(':1\r\n'),
  'a simple string': take('+OK\r\n'),
  'a bulk string': take(bulk('1, 2, 3')),
  'an empty string': take('$0\r\n\r\n'),
  'a null array, *-1': take('*-1\r\n'),
  'a null string, $-1': take('$-1\r\n'),
  'a null, _': take('_\r\n'),
  'true, #t': take('#t\r\n'),
  'a double': take(',1.5\r\n'),
  'a big number': take('(3492890328409238509324850943850943825024385\r\n'),
  'an empty array': take('*0\r\n'),
  'an array of one': take(`*1\r\n:${Date.now()}\r\n`),
  'an array too short': almost(([call = 0, nowMs = 0, remaining = 0]) => [call, nowMs, remaining]),
  'an array too long by one': almost((own) => [...own, 7]),
  'an array of two answers': almost((own) => [...own, ...own.slice(2)]),
  'an array of 20,000': take(numbers(Array(20_000).fill(1))),
  'an array of strings': take(`*3\r\n${bulk('1')}${bulk('2')}${bulk('3')}`),
  'an array of nulls': take('*3\r\n_\r\n_\r\n_\r\n'),
  'an array of floats': take('*3\r\n,1.5\r\n,2.5\r\n,3.5\r\n'),
  'an array of arrays': take('*3\r\n*0\r\n*0\r\n*0\r\n'),
  'an array with an error': take('*3\r\n:1\r\n-ERR no\r\n:1\r\n'),
  'booleans for numbers': take('*3\r\n#t\r\n#t\r\n#t\r\n'),
  'a map': take('%1\r\n+now\r\n:1\r\n'),
  'numbers beyond 2^53': take('*3\r\n:9223372036854775807\r\n:1\r\n:1\r\n'),
  'more remaining than the limit': almost(([call = 0, nowMs = 0], limit) => [
    call,
    nowMs,
    limit + 1,
    WINDOW_MS,
  ]),
  'all remaining after a take': almost(([call = 0, nowMs = 0], limit) => [
    call,
    nowMs,
    limit,
    WINDOW_MS,
  ]),
  'denied with more than the limit': almost(([call = 0, nowMs = 0], limit) => [
    call,
    nowMs,
    -limit - 9,
    WINDOW_MS,
  ]),
  'denied with room': almost(([call = 0, nowMs = 0], limit) => [call, nowMs, -limit, WINDOW_MS]),
  'denied with nothing to wait for': almost(([call = 0, nowMs = 0]) => [
    call,
    nowMs,
    -1,
    WINDOW_MS,
    0,
  ]),
  'denied for a year': almost(([call = 0, nowMs = 0]) => [
    call,
    nowMs,
    -1,
    WINDOW_MS,
    365 * 24 * WINDOW_MS,
  ]),
  'a wait below zero': almost(([call = 0, nowMs = 0]) => [call, nowMs, 0, WINDOW_MS, -1]),
  'a reset below zero': almost(([call = 0, nowMs = 0, remaining = 0]) => [
    call,
    nowMs,
    remaining,
    -1,
  ]),
  'a reset in a year': almost(([call = 0, nowMs = 0, remaining = 0]) => [
    call,
    nowMs,
    remaining,
    365 * 24 * WINDOW_MS,
  ]),
  'the answer to the call before': almost(([call = 0, ...rest]) => [call - 1, ...rest]),
  'a clock at zero': almost(([call = 0, , ...rest]) => [call, 0, ...rest]),
  'a clock before 1970': almost(([call = 0, , ...rest]) => [call, -1, ...rest]),
  'a clock in seconds': almost(([call = 0, nowMs = 0, ...rest]) => [
    call,
    Math.floor(nowMs / 1_000),
    ...rest,
  ]),
};

const wellFormed: BadAnswer[] = Object.entries(WELL_FORMED).map(([name, fault]) => ({
  name,
  fault,
  reasons: ['malformed'],
}));

/** No RESP. The connection is given up, so some requests find none. */
const NO_RESP: Readonly<Record<string, () => Fault>> = {
  'random bytes': take(Buffer.from('c3f0a9177e02d96be85512904ac7fd38b61e', 'hex')),
  '8-bit noise': take(Buffer.from(Array.from({ length: 256 }, (_, i) => 255 - i))),
  'an empty line': take('\r\n'),
  'an HTTP response': take('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'),
  'a TLS alert': take(Buffer.from('1503010002022a', 'hex')),
  'a string of negative length': take('$-5\r\n'),
  'an array of negative length': take('*-2\r\n:1\r\n:2\r\n'),
  'an array of 99,999,999,999': take('*99999999999\r\n'),
  'nested 100,000 deep': take('*1\r\n'.repeat(100_000)),
  'integers with letters': take('*3\r\n:1x7\r\n:abc\r\n:9.5\r\n'),
  'integers of nothing': take('*3\r\n:\r\n:\r\n:\r\n'),
  'garbage inside of an array': take('*3\r\n:1\r\nx\r\n:1\r\n'),
};

/** RESP, but more of it than any reply to headgate has. */
const TOO_MUCH: Readonly<Record<string, () => Fault>> = {
  'the head of an array of 30,000,000': take('*30000000\r\n:1\r\n'),
  'arrays of 30,000,000 in each other': take('*30000000\r\n'.repeat(1_000)),
  'arrays of 90,000 in each other': take('*90000\r\n'.repeat(1_000)),
  'a set of 30,000,000': take('~30000000\r\n'),
  'a map of 15,000,000': take('%15000000\r\n'),
  'a push of 30,000,000': take('>30000000\r\n'),
  'an array of a million numbers': take(`*1000000\r\n${':1\r\n'.repeat(1_000_000)}`),
  'the head of a string of 64 MiB': take('$67108864\r\n'),
  'the head of an error of 64 MiB': take('!67108864\r\n'),
  'a big number of a million digits': take(`(${'9'.repeat(1_000_000)}\r\n`),
  'an integer of a million digits': take(`:${'9'.repeat(1_000_000)}\r\n`),
  'a length of a million digits': take(`*${'9'.repeat(1_000_000)}\r\n`),
  'an error without end': () => endless('-ERR '),
  'a simple string without end': () => endless('+'),
  'an array of strings without end': () => endless('*99000\r\n', bulk('x'.repeat(8_192))),
};

const noResp: BadAnswer[] = Object.entries({ ...NO_RESP, ...TOO_MUCH }).map(([name, fault]) => ({
  name,
  fault,
  reasons: ['malformed'],
}));

/** The rest never comes, nor anything else. */
const UNFINISHED: Readonly<Record<string, string>> = {
  nothing: '',
  'half an answer': `*3\r\n:${Date.now()}\r\n:1`,
  'the head of an array of 1,000,000,000': '*1000000000\r\n',
  'the head of a string of 99,999,999,999 bytes': '$99999999999\r\n',
  'an empty push': '>0\r\n',
  'a push of null': '>1\r\n_\r\n',
  'a push of a subscription': `>3\r\n${bulk('subscribe')}${bulk('x')}:1\r\n`,
  'a push of a subscription to nothing': `>1\r\n${bulk('subscribe')}`,
};

const unfinished: BadAnswer[] = Object.entries(UNFINISHED).map(([name, bytes]) => ({
  name,
  fault: fallSilent('take', bytes),
  reasons: ['timeout', 'malformed'],
  holdMs: SILENCE_MS,
}));

/** After the beginning a chunk every few milliseconds, as long as somebody takes them. */
function endless(beginning: string, repeated = 'x'): Fault {
  const chunk = Buffer.alloc(512 * 1_024, repeated);
  return ({ name, socket, fallSilent }) => {
    if (name !== 'take') return false;
    fallSilent();
    socket.write(beginning);
    const timer = setInterval(() => socket.writableNeedDrain || socket.write(chunk), 2);
    socket.on('close', () => clearInterval(timer));
    return true;
  };
}

const outOfStep: BadAnswer[] = [
  {
    name: 'a string without its end, and then more',
    fault: () => endless('$16000000\r\n'),
    reasons: ['timeout', 'malformed'],
    holdMs: 2_500,
  },
  {
    name: 'garbage, and the connection stays open',
    fault: () => staying(reply('take', 'no RESP\r\n')),
    reasons: ['malformed'],
  },
  {
    name: 'every answer left out, but for those to others',
    fault: take(''),
    reasons: ['timeout'],
    during: 'either',
    holdMs: SILENCE_MS,
  },
  {
    name: 'every answer twice',
    fault: take(({ answer }) => answer + answer),
    reasons: [],
    during: 'either',
  },
  {
    name: 'one answer twice, 5 ms late',
    fault: later(5, (answer, n) => (n === 3 ? answer + answer : answer)),
    reasons: [],
    during: 'either',
  },
  {
    name: 'one answer left out, 5 ms late',
    fault: later(5, (answer, n) => (n === 3 ? '' : answer)),
    reasons: [],
    during: 'either',
    holdMs: SILENCE_MS,
  },
  {
    name: 'an answer that was not asked for before one, 5 ms late',
    fault: later(5, (answer, n) => (n === 3 ? `+OK\r\n${answer}` : answer)),
    reasons: ['malformed'],
    during: 'either',
  },
  {
    name: 'pushes in between',
    fault: take(({ answer }) => `>2\r\n${bulk('invalidate')}_\r\n${answer}`),
    reasons: [],
    during: 'measured',
  },
];

/** To nothing asked, on every connection. */
const UNASKED: Readonly<Record<string, string>> = {
  'a string': '+OK\r\n',
  'an integer': ':1\r\n',
  'an array': '*3\r\n:1\r\n:2\r\n:3\r\n',
  'a null': '_\r\n',
  'a null string': '$-1\r\n',
  'an error': '-ERR idle for too long\r\n',
  noise: '\u0000\u0001\u0002\r\n',
  'a message of nobody': `>3\r\n${bulk('message')}_\r\n_\r\n`,
  'a message without a text': `>1\r\n${bulk('message')}`,
  'a reset': `>3\r\n${bulk('message')}${bulk('hg:v1:reset')}${bulk('')}`,
  'a push of nothing': '>1\r\n_\r\n',
  'the end of a subscription': `>3\r\n${bulk('unsubscribe')}${bulk('hg:v1:reset')}:0\r\n`,
};

const unasked: BadAnswer[] = Object.entries(UNASKED).map(([name, says]) => ({
  name: `unasked, ${name}`,
  says,
  reasons: [],
  during: 'either',
}));

const handshake = (
  name: string,
  fault: () => Fault,
  during?: NonNullable<BadAnswer['during']>,
): BadAnswer => ({
  name,
  fault,
  meets: 'handshakes',
  reasons: during === undefined ? ['connection'] : [],
  ...(during !== undefined && { during }),
  holdMs: 250,
});

const HANDSHAKE_REFUSALS = [
  'LOADING Redis is loading the dataset in memory',
  'NOAUTH Authentication required.',
  'WRONGPASS invalid username-password pair or user is disabled.',
];

const answersTo = (command: string, bytes: string) => () => reply(command, bytes);

const handshakes: BadAnswer[] = [
  ...['hello', 'info'].flatMap((command) =>
    HANDSHAKE_REFUSALS.map((line) =>
      handshake(`${command}: -${line}`, answersTo(command, `-${line}\r\n`)),
    ),
  ),
  handshake('hello: -NOPERM', answersTo('hello', '-NOPERM no permissions\r\n')),
  handshake('hello: -NOPROTO, so RESP2', answersTo('hello', '-NOPROTO no\r\n'), 'measured'),
  handshake(
    'hello: unknown, so RESP2',
    answersTo('hello', "-ERR unknown command 'HELLO'\r\n"),
    'measured',
  ),
  handshake('hello: -ERR max number of clients reached, then the end', () =>
    replyAndEnd('hello', '-ERR max number of clients reached\r\n'),
  ),
  handshake('hello: the end', () => replyAndEnd('hello', '')),
  handshake('hello: nothing', fallSilent('hello')),
  handshake('hello: HTTP', answersTo('hello', 'HTTP/1.1 400 Bad Request\r\n\r\n')),
  handshake('hello: an integer', answersTo('hello', ':1\r\n'), 'either'),
  handshake('hello: a null', answersTo('hello', '_\r\n'), 'either'),
  handshake('client: -ERR', answersTo('client', '-ERR no such subcommand\r\n'), 'measured'),
  handshake('client: nothing', fallSilent('client')),
  handshake('info: -NOPERM, so it goes on', answersTo('info', '-NOPERM no\r\n'), 'measured'),
  handshake('info: nothing', fallSilent('info')),
  handshake('info: an integer', answersTo('info', ':1\r\n'), 'either'),
  handshake('info: a null', answersTo('info', '_\r\n'), 'either'),
  handshake('info: an array', answersTo('info', '*1\r\n:1\r\n'), 'either'),
  handshake(
    'info: loading, for ten seconds more',
    answersTo('info', bulk('loading:1\r\nloading_eta_seconds:10\r\n')),
  ),
  ...[
    '-NOPERM no\r\n',
    ':1\r\n',
    '_\r\n',
    '*0\r\n',
    '+OK\r\n',
    `>2\r\n${bulk('subscribe')}_\r\n`,
  ].map((bytes) =>
    handshake(`subscribe: ${JSON.stringify(bytes)}`, answersTo('subscribe', bytes), 'measured'),
  ),
  ...['-ERR no\r\n', ':1\r\n', '*0\r\n', '$0\r\n\r\n', bulk('?')].map((bytes) =>
    handshake(`get: ${JSON.stringify(bytes)}`, answersTo('get', bytes), 'measured'),
  ),
  handshake('eval of the heartbeat: an integer', answersTo('eval', ':1\r\n'), 'measured'),
  handshake('eval of the heartbeat: nulls', answersTo('eval', '*2\r\n_\r\n_\r\n'), 'measured'),
  handshake(
    'subscribe in RESP2: a null',
    () => (question) =>
      reply('hello', '-NOPROTO no\r\n')(question) || reply('subscribe', '$-1\r\n')(question),
    'measured',
  ),
  handshake(
    'a message of nobody in RESP2',
    () => (question) =>
      reply('hello', '-NOPROTO no\r\n')(question) ||
      reply(
        'subscribe',
        `*3\r\n${bulk('subscribe')}${bulk('hg:v1:reset')}:1\r\n*3\r\n${bulk('message')}$-1\r\n$-1\r\n`,
      )(question),
    'measured',
  ),
];

export const BAD_ANSWERS: readonly BadAnswer[] = [
  ...refusals,
  ...wellFormed,
  ...noResp,
  ...unfinished,
  ...outOfStep,
  ...unasked,
  ...handshakes,
];
