/** Reads lines of JSON that name keys, and puts them into batches that a gateway takes in one call. */
import { mistakesIn } from '../../gateway/operations/input-mistakes.ts';
import {
  type ImportedKey,
  importedKeySchema,
  MOST_IMPORTED,
} from '../../gateway/operations/schemas/keys.ts';

export interface KeyLine {
  /** From 1. */
  readonly number: number;
  readonly key: ImportedKey;
}

/** A longer line is never in memory as a whole. */
const MAX_LINE_BYTES = 16_384;
/** A gateway takes bodies of 256 KiB. */
const MAX_BATCH_BYTES = 200_000;
const LINE_FEED = 10;

/** `onMistake` gets the number of each line that names no key, and why. */
export async function* keyBatches(
  chunks: AsyncIterable<Buffer>,
  onMistake: (line: number, message: string) => void,
): AsyncGenerator<readonly KeyLine[]> {
  let batch: KeyLine[] = [];
  let bytes = 0;
  let number = 0;
  for await (const line of linesIn(chunks)) {
    number++;
    const key = keyIn(line);
    if (typeof key === 'string') onMistake(number, key);
    if (typeof key !== 'object') continue;
    const size = Buffer.byteLength(JSON.stringify(key)) + 1;
    if (batch.length === MOST_IMPORTED || bytes + size > MAX_BATCH_BYTES) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push({ number, key });
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** A text says what is wrong, without what the line has, which may be a key. Undefined for an empty line. */
function keyIn(line: Buffer | undefined): ImportedKey | string | undefined {
  if (line === undefined) return `is longer than ${MAX_LINE_BYTES} bytes`;
  const value = valueIn(line);
  if (value === undefined) return undefined;
  if (value === NO_JSON)
    return 'is no JSON object such as {"id": "acme", "sha256": "...", "plan": "pro"}';
  const { success, data, error } = importedKeySchema.safeParse(value, { reportInput: true });
  return success ? data : mistakesIn(error);
}

const NO_JSON = Symbol();
const UTF8 = new TextDecoder('utf-8', { fatal: true });

function valueIn(line: Buffer): unknown {
  try {
    const text = UTF8.decode(line).trim();
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return NO_JSON;
  }
}

/** Undefined stands for a line that is too long. */
async function* linesIn(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer | undefined> {
  let parts: Buffer[] = [];
  let length = 0;
  const add = (part: Buffer) => {
    length += part.length;
    if (length <= MAX_LINE_BYTES) parts.push(part);
  };
  const take = () => {
    const line = length <= MAX_LINE_BYTES ? Buffer.concat(parts) : undefined;
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, end));
      start = end + 1;
      yield take();
    }
    add(chunk.subarray(start));
  }
  if (length > 0) yield take();
}
