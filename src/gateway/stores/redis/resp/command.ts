/**
 * Writes commands in RESP: a list of strings, each behind its length in bytes
 * (https://redis.io/docs/latest/develop/reference/protocol-spec/).
 */
import type { Words } from '../counting-connection.ts';

interface Command {
  readonly text: string;
  /** `latin1` if all characters are ASCII: Node writes them without a conversion. */
  readonly encoding: 'latin1' | 'utf8';
}

export function commandOf(words: Words): Command {
  const text = listOf(words, (word) => word.length);
  if (Buffer.byteLength(text) === text.length) return { text, encoding: 'latin1' };
  return { text: listOf(words, Buffer.byteLength), encoding: 'utf8' };
}

/** One text for all words: no object for each of them. */
function listOf(words: Words, lengthOf: (word: string) => number): string {
  let text = `*${words.length}\r\n`;
  for (const each of words) {
    const word = String(each);
    text += `$${lengthOf(word)}\r\n${word}\r\n`;
  }
  return text;
}
