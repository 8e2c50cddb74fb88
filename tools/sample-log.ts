/**
 * Prints an access log of an imaginary shop to try `suggest` and `replay` on: five days of people, offices and crawlers,
 * and a break-in attempt on the last day. `node tools/sample-log.ts > access.log`
 */
import { once } from 'node:events';
import { combinedLine } from '../test/support/log-entries.ts';
import { syntheticLog } from '../test/support/synthetic-log.ts';

const HOUR_MS = 3_600_000;
const PIECE = 65_536;

const requests = syntheticLog({
  ...{ seed: 1, startMs: Date.UTC(2026, 0, 5), days: 5 },
  ...{ people: 700, offices: 6, crawlers: 3, monitors: 1 },
  attacks: [
    {
      ...{ name: 'stuffing', day: 4, atMs: 3 * HOUR_MS, forMs: HOUR_MS / 2 },
      ...{ requestsPerSecond: 1, addresses: 10, network: 60 },
      ...{ method: 'POST', target: () => '/api/login', status: 401 },
    },
  ],
});
let text = '';
for (const { entry } of requests) {
  text += combinedLine(entry);
  if (text.length < PIECE) continue;
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
  text = '';
}
process.stdout.write(text);
