/** Writes access logs for benchmarks: NGINX's combined format, in order, the same each time. */

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { combinedLine, logEntry, seededRandom } from '../../test/support/log-entries.ts';

export interface AccessLog {
  readonly lines: number;
  readonly clients: number;
  /** Milliseconds between two requests, on average. */
  readonly meanGapMs: number;
}

const START_MS = Date.UTC(2026, 10, 1);
const PIECE = 1_000_000;
const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36';

/** Every client sends as much as any other, which is the hardest case: nothing stays in the caches of the processor. */
export async function writeAccessLog(path: string, { lines, clients, meanGapMs }: AccessLog) {
  const random = seededRandom(7);
  const file = createWriteStream(path);
  let startMs = START_MS;
  let text = '';
  for (let i = 0; i < lines; i++) {
    startMs += random() * 2 * meanGapMs;
    const client = Math.floor(random() * clients);
    const address = `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}`;
    const target = i % 10 === 0 ? '/api/auth/login' : `/products/${i % 5_000}?page=${i % 50}`;
    text += combinedLine(logEntry({ startMs, address, target, userAgent: USER_AGENT }));
    if (text.length < PIECE && i < lines - 1) continue;
    if (!file.write(text, 'latin1')) await once(file, 'drain');
    text = '';
  }
  file.end();
  await once(file, 'finish');
}
