/**
 * The connection over which requests are counted. With a single Redis it is one of our own, otherwise that of ioredis.
 * What must keep its place among the takes goes over it, too: peeks, resets and heartbeats.
 */
import type { Connection, RedisClient } from './client.ts';
import { isNoScript } from './failures.ts';
import { type Clocks, TAKE_SCRIPT, TAKE_SCRIPT_SHA, type TakeArguments } from './take-script.ts';

/** A call of the script that counts. Either `onReply` or `onError` is called, once. */
export interface TakeCall {
  readonly call: TakeArguments;
  readonly clocks: Clocks;
  readonly onReply: (reply: unknown) => void;
  readonly onError: (error: unknown) => void;
}

export interface CountingConnection extends Connection {
  /** Sends the call once, and never waits for a connection. */
  take(call: TakeCall): void;
  ping(): Promise<unknown>;
  eval(
    script: string,
    keyCount: number,
    ...keysAndValues: readonly (string | number)[]
  ): Promise<unknown>;
  del(key: string): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
}

export function overIoredis(client: RedisClient): CountingConnection {
  return {
    get status() {
      return client.status;
    },
    on: (event, listener) => client.on(event, listener),
    once: (event, listener) => client.once(event, listener),
    disconnect: (reconnect) => client.disconnect(reconnect),
    ping: () => client.ping(),
    eval: (script, keyCount, ...rest) => client.eval(script, keyCount, ...rest),
    del: (key) => client.del(key),
    publish: (channel, message) => client.publish(channel, message),
    take({ call, clocks, onReply, onError }) {
      const { keys } = call;
      const values = call.values(clocks);
      const sendWhole = (error: unknown) => {
        // A server that does not know the script has not run it, so sending it again does not count twice.
        if (!isNoScript(error)) throw error;
        return client.eval(TAKE_SCRIPT, keys.length, ...keys, ...values).then(onReply);
      };
      client
        .evalsha(TAKE_SCRIPT_SHA, keys.length, ...keys, ...values)
        .then(onReply, sendWhole)
        .catch(onError);
    },
  };
}

/** Calls `act` whenever a connection opened and all of them are ready. */
export function whenAllReady(connections: readonly Connection[], act: () => void): void {
  for (const connection of connections) {
    connection.on('ready', () => {
      if (connections.every(({ status }) => status === 'ready')) act();
    });
  }
}
