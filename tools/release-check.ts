/** Before a release: what grows old by itself, and no test may fail by. Exits with 1 and says what to do. */
import { readFileSync } from 'node:fs';
import { ageOf, parseCloudflareRanges } from '../src/config/policy-file/cloudflare-ranges.ts';
import { SHIPPED_RANGES } from '../src/config/shipped-files.ts';

const list = parseCloudflareRanges(readFileSync(SHIPPED_RANGES, 'utf8'), SHIPPED_RANGES);
const age = ageOf(list, Date.now());
if (age === undefined) {
  console.log(`release check: the list of Cloudflare networks was checked on ${list.checked}`);
} else {
  console.error(
    `release check: ${age}. Compare config/cloudflare-ranges.yaml with https://www.cloudflare.com/ips/, ` +
      'correct its ranges, and set "checked" to today.',
  );
  process.exitCode = 1;
}
