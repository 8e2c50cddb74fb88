/**
 * Before a release: what must agree, and what grows old by itself, which no test may fail by. Prints each problem with
 * its remedy, and exits with 1 if there is one. `node tools/release-check.ts [TAG]`
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ageOf, parseCloudflareRanges } from '../src/gateway/config/policy-file/read.ts';
import { SHIPPED_RANGES } from '../src/gateway/config/shipped-files.ts';
import { packageVersion, readReleaseFiles } from './release/release-files.ts';
import { releaseProblems } from './release/release-problems.ts';

const files = readReleaseFiles(fileURLToPath(new URL('..', import.meta.url)));
const list = parseCloudflareRanges(readFileSync(SHIPPED_RANGES, 'utf8'), SHIPPED_RANGES);
const age = ageOf(list, Date.now());
const problems = releaseProblems(files, process.argv[2]);
if (age !== undefined) {
  problems.push(
    `${age}. Compare config/cloudflare-ranges.yaml with https://www.cloudflare.com/ips/, ` +
      'correct its ranges, and set "checked" to today.',
  );
}
for (const problem of problems) console.error(`release check: ${problem}`);
if (problems.length > 0) process.exitCode = 1;
else console.log(`release check: ${packageVersion(files)} can be released`);
