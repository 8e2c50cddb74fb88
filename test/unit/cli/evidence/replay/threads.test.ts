import { expect, test } from 'vitest';
import { ReplayThreads } from '../../../../../src/cli/evidence/replay/threads.ts';
import { validatePolicyFile } from '../../../../../src/gateway/config/policy-file/validate.ts';
import { combinedLine, randomEntries } from '../../../../support/log-entries.ts';
import { policyFileContext } from '../../../../support/policies.ts';

const CHUNKS = 30;
const LINES = 200;

test('chunks wait for the threads, so that a long log does not fill the memory', async () => {
  const { file } = validatePolicyFile(
    '{ version: 1, identity: { sources: [ip] }, default: { limits: [5/1min] } }',
    'policies.yaml',
    policyFileContext(),
  );
  const policies = { file, ranges: { cloudflare: [] } };
  const parsing = { zone: 'UTC', timeIs: undefined, fields: [] };
  let reported = 0;
  const onLines = () => {
    reported++;
  };
  await using threads = new ReplayThreads(
    {
      ...{ format: 'nginx-combined', parsing, policies, against: undefined, mapping: [] },
      ...{ sources: 1, horizonMs: 60_000, precisionMs: 1_000, threads: 2 },
      ...{ measuresPeaks: false, keepsMisread: false },
    },
    { onLines, onMisread: undefined },
  );
  const lines = randomEntries(CHUNKS * LINES, 1_000).map(combinedLine);
  for (let i = 0; i < CHUNKS; i++) {
    const bytes = Buffer.from(lines.slice(i * LINES, (i + 1) * LINES).join(''));
    await threads.add({ source: 0, bytes, isLast: i === CHUNKS - 1 });
    expect(i + 1 - reported).toBeLessThanOrEqual(4);
  }
  const { result, lines: counts } = await threads.finish();
  expect(counts.read).toBe(CHUNKS * LINES);
  expect([...result.reasons.values()].reduce((a, b) => a + b)).toBe(CHUNKS * LINES);
});
