/**
 * The connection over which requests are counted. With a single Redis it is one of our own, otherwise that of ioredis.
 * What must keep its place among the takes goes over it, too: peeks, resets and heartbeats.
 */
import type { Connection, RedisClient } from './client.ts';

/** A command and its arguments. */
export type Words = readonly [string, ...(string | number)[]];

/** Exactly one of the two is called, once. */
export interface Caller {
  onReply(reply: unknown): void;
  onError(error: unknown): void;
}

export interface Sender {
  /** Sends the command once, and never waits for a connection. */
  send(words: Words, caller: Caller): void;
}

export interface CountingConnection extends Connection, Sender {}

export function overIoredis(client: RedisClient): CountingConnection {
  return {
    get status() {
      return client.status;
    },
    on: (event, listener) => client.on(event, listener),
    once: (event, listener) => client.once(event, listener),
    disconnect: (reconnect) => client.disconnect(reconnect),
    send([name, ...rest], { onReply, onError }) {
      client.call(name, ...rest).then(onReply, onError);
    },
  };
}

/** Resolves to the reply, with its strings as text. */
export function callRedis(sender: Sender, ...words: Words): Promise<unknown> {
  return new Promise((resolve, reject) => {
    sender.send(words, { onReply: (reply) => resolve(textOf(reply)), onError: reject });
  });
}

function textOf(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(textOf);
  return Buffer.isBuffer(reply) ? reply.toString() : reply;
}

/** Calls `act` whenever a connection opened and all of them are ready. */
export function whenAllReady(connections: readonly Connection[], act: () => void): void {
  for (const connection of connections) {
    connection.on('ready', () => {
      if (connections.every(({ status }) => status === 'ready')) act();
    });
  }
}
