/** Reads lines of JSON that name keys, and puts them into batches that a gateway takes in one call. */
import { mistakesIn } from '../../gateway/operations/input-mistakes.ts';
import {
  type ImportedKey,
  importedKeySchema,
  MOST_IMPORTED,
} from '../../gateway/operations/schemas/keys.ts';
import { LineCutter } from '../evidence/reading/line-cutter.ts';

export interface KeyLine {
  /** From 1. */
  readonly number: number;
  readonly key: ImportedKey;
}

const MAX_LINE_BYTES = 16_384;
/** A gateway takes bodies of 256 KiB. */
const MAX_BATCH_BYTES = 200_000;

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

async function* linesIn(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const cutter = new LineCutter();
  for await (const chunk of chunks) {
    cutter.add(chunk);
    while (cutter.has(1)) yield cutter.take(1);
  }
  yield cutter.takeRest();
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** A text says what is wrong, without what the line has, which may be a key. Undefined for an empty line. */
function keyIn(line: Buffer): ImportedKey | string | undefined {
  if (line.length > MAX_LINE_BYTES) return `is longer than ${MAX_LINE_BYTES} bytes`;
  let value: unknown;
  try {
    const text = UTF8.decode(line).trim();
    if (text === '') return undefined;
    value = JSON.parse(text);
  } catch {
    return 'is no JSON object such as {"id": "acme", "sha256": "...", "plan": "pro"}';
  }
  const { success, data, error } = importedKeySchema.safeParse(value, { reportInput: true });
  return success ? data : mistakesIn(error);
}
