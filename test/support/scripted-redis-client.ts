/** A Redis client whose replies a test decides: for the errors and delays that a real server does not produce on demand. */
import type { RedisClient } from '../../src/gateway/stores/redis/client.ts';

/** A command as the store sent it, in lower case, with its arguments. */
export interface SentCommand {
  readonly name: string;
  readonly args: readonly (string | number)[];
}

/** Returns the reply, or throws the error that the command fails with. A promise that stays pending never answers. */
export type Reply = (command: SentCommand) => unknown;

export interface ScriptedClient {
  readonly client: RedisClient;
  /** In the order in which they were sent. */
  readonly sent: SentCommand[];
  /** The argument of every call of `disconnect`. */
  readonly disconnects: (boolean | undefined)[];
}

export function scriptedClient(reply: Reply): ScriptedClient {
  const sent: SentCommand[] = [];
  const disconnects: (boolean | undefined)[] = [];
  const command =
    (name: string) =>
    async (...args: (string | number)[]) => {
      sent.push({ name, args });
      return reply({ name, args });
    };
  const client = {
    status: 'ready',
    eval: command('eval'),
    evalsha: command('evalsha'),
    del: command('del'),
    ping: command('ping'),
    publish: command('publish'),
    call: (name: string, ...args: (string | number)[]) => command(name)(...args),
    disconnect: (reconnect?: boolean) => disconnects.push(reconnect),
  };
  return { client: client as unknown as RedisClient, sent, disconnects };
}

/** The parts of a script call. */
export function scriptCall({ args }: SentCommand) {
  const [script, keyCount, ...rest] = args;
  const keys = rest.slice(0, Number(keyCount)).map(String);
  const values = rest.slice(Number(keyCount));
  return { script: String(script), keys, values, number: Number(values[1]) };
}

/** What take.lua returns if every descriptor, of a limit of at least two, has `remaining` units left. */
export function admitting(command: SentCommand, nowMs: number, remaining = 1): number[] {
  const { keys, number } = scriptCall(command);
  return [number, nowMs, ...keys.flatMap(() => [remaining, 1_000])];
}
