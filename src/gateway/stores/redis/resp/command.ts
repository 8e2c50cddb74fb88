/**
 * Writes commands in RESP: a list of strings, each behind its length in bytes
 * (https://redis.io/docs/latest/develop/reference/protocol-spec/).
 */
import { type Clocks, TAKE_SCRIPT, TAKE_SCRIPT_SHA, type TakeArguments } from '../take-script.ts';

const KNOWN_SCRIPT = bulk('evalsha') + bulk(TAKE_SCRIPT_SHA);
const WHOLE_SCRIPT = bulk('eval') + bulk(TAKE_SCRIPT);

export function command(words: readonly (string | number)[]): string {
  return words.reduce<string>((text, word) => text + bulk(String(word)), `*${words.length}\r\n`);
}

/** A call of the script that counts. One text for all keys and values: no object for each of them. */
export interface TakeCommand {
  /** Names the script by its digest. */
  readonly known: string;
  /** Sends the script, for a server that does not know it. */
  whole(): string;
  /** `latin1` if all characters are ASCII: Node writes them without a conversion. */
  readonly encoding: 'latin1' | 'utf8';
}

export function takeCommand(call: TakeArguments, clocks: Clocks): TakeCommand {
  const values = call.values(clocks);
  const head = `*${3 + call.keys.length + values.length}\r\n`;
  let rest = argumentsOf(call.keys, values, asciiBulk);
  const isAscii = Buffer.byteLength(rest) === rest.length;
  if (!isAscii) rest = argumentsOf(call.keys, values, bulk);
  return {
    known: head + KNOWN_SCRIPT + rest,
    whole: () => head + WHOLE_SCRIPT + rest,
    encoding: isAscii ? 'latin1' : 'utf8',
  };
}

function argumentsOf(
  keys: readonly string[],
  values: readonly (string | number)[],
  write: (text: string) => string,
): string {
  let text = write(String(keys.length));
  for (const key of keys) text += write(key);
  for (const value of values) text += write(String(value));
  return text;
}

function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

function asciiBulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`;
}
