/** Records with MONITOR, in their order, what scripts write to the counters that are charged afterwards. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { Redis } from 'ioredis';
import { stampOf } from '../exactness/judge.ts';

/**
 * `settled`: the mark of a token, with how long it is kept in milliseconds. `reset`: a moment. `took` and `corrected`: the new
 * value of a counter by a take and by a settlement, empty if it is deleted; of a log, the moment that comes or, with a minus,
 * goes.
 */
export type Line =
  | { readonly act: 'settled'; readonly id: string; readonly keptMs: number }
  | { readonly act: 'reset'; readonly key: string; readonly atMs: number }
  | { readonly act: 'took' | 'corrected'; readonly key: string; readonly value: string };

export interface RedisRecord {
  readonly lines: readonly Line[];
  readonly marks: ReadonlySet<string>;
  /** Until Redis has run everything that it was sent before. */
  finish(): Promise<void>;
  close(): void;
}

const COMMAND =
  /^\+([\d.]+) \[\d+ (\S+)\] "(\w+)"(?: "([^"]*)")?(?: "([^"]*)")?(?: "([^"]*)")?(?: "([^"]*)")?(?: "([^"]*)")?/;
const COUNTER = /^hg:v1:\{[^}]+\}:\w/;
const MARK = /\}:settled:([\w-]{16})$/;

export async function recordRedis(url: string): Promise<RedisRecord> {
  const { hostname, port } = new URL(url);
  const lines: Line[] = [];
  const marks = new Set<string>();
  const ends = new Map<string, () => void>();
  let isSettling = false;

  function read(line: string): void {
    const [, seconds, caller, name = '', key = '', ...words] = COMMAND.exec(line) ?? [];
    const command = name.toLowerCase();
    if (command === 'echo') ends.get(key)?.();
    if (command.startsWith('eval')) isSettling = false;
    if (caller !== 'lua' || !COUNTER.test(key)) return;
    const id = MARK.exec(key)?.[1];
    const [first = '', second = '', third = ''] = words;
    if (id !== undefined) {
      isSettling = true;
      // Redis keeps the first mark.
      if (command === 'set' && !marks.has(id)) {
        marks.add(id);
        lines.push({ act: 'settled', id, keptMs: Number(words[3] ?? third) });
      }
    } else if (key.endsWith(':reset')) {
      if (command === 'set') {
        lines.push({ act: 'reset', key: key.slice(0, -':reset'.length), atMs: Number(first) });
      }
    } else {
      const act = isSettling ? 'corrected' : 'took';
      const seenMs = Math.floor(Number(seconds) * 1_000);
      if (command === 'set') lines.push({ act, key, value: first });
      if (command === 'rpush') lines.push({ act, key, value: `${stampOf(Number(first), seenMs)}` });
      if (command === 'lrem')
        lines.push({ act, key, value: `-${stampOf(Number(second), seenMs)}` });
      if (command === 'del' && isSettling) lines.push({ act, key, value: '' });
    }
  }

  const socket = connect(Number(port), hostname).setEncoding('latin1');
  const redis = new Redis(url);
  let rest = '';
  socket.on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\r\n');
    rest = parts.pop() ?? '';
    for (const each of parts) read(each);
  });
  socket.write('MONITOR\r\n');
  await once(socket, 'data');
  let echoes = 0;
  return {
    lines,
    marks,
    async finish() {
      const name = `end-${++echoes}`;
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      await redis.echo(name);
      await promise;
    },
    close() {
      socket.destroy();
      redis.disconnect();
    },
  };
}
