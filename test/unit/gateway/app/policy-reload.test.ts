/** What reloading the policy file reports. */
import { expect, test } from 'vitest';
import { reportPolicies, watchPolicies } from '../../../../src/gateway/app/reload-on-change.ts';
import { ConfigError } from '../../../../src/gateway/config/diagnostic.ts';
import type { PolicySource } from '../../../../src/gateway/config/policy-file/policy-source.ts';
import { observedTelemetry } from '../../../support/telemetry.ts';

type Reload = PolicySource['reload'];

function setUp(reload: Reload) {
  const observed = observedTelemetry();
  const policies = {
    files: [],
    pending: () => undefined,
    digest: 'abc',
    notes: ['a note'],
    current: { policies: [{}, {}] },
    reload,
  } as unknown as PolicySource;
  const { policyFile } = observed.telemetry;
  return { ...observed, policies, policyFile, reloadNow: watchPolicies(policies, policyFile) };
}

const reloaded = (removed: readonly string[] = []) => ({ removed }) as Awaited<ReturnType<Reload>>;

test('a reloaded file is in force, and its notes and removed policies are logged', async () => {
  const { lines, metrics, reloadNow } = setUp(async () => reloaded(['login']));
  await reloadNow();
  expect(lines()).toMatchObject([
    { event: 'policies_loaded', policies: 2 },
    { event: 'policies_removed', policies: ['login'] },
    { event: 'policy_note', msg: 'a note' },
  ]);
  expect(await metrics('config_info')).toEqual(['headgate_config_info{sha256="abc"} 1']);
});

test('a file that is the same is not reported', async () => {
  const { lines, reloadNow } = setUp(async () => undefined);
  await reloadNow();
  expect(lines()).toEqual([]);
});

test.each([
  [new ConfigError(['a mistake', 'another one']), ['a mistake', 'another one']],
  [new Error('a bug'), ['cannot be read: Error: a bug']],
])('an unusable file is refused, and the policies in force stay: %s', async (error, mistakes) => {
  const { lines, metrics, reloadNow } = setUp(async () => {
    throw error;
  });
  await reloadNow();
  expect(lines()).toMatchObject([{ event: 'policies_refused', mistakes }]);
  expect(await metrics('config_info')).toEqual([]);
});

test('a reload that is demanded while one runs reads the files again', async () => {
  let reads = 0;
  const gates: (() => void)[] = [];
  const { reloadNow } = setUp(async () => {
    reads++;
    await new Promise<void>((resolve) => gates.push(resolve));
    return undefined;
  });
  const running = [reloadNow(), reloadNow(), reloadNow()];
  expect(reads).toBe(1);
  gates.shift()?.();
  await expect.poll(() => reads).toBe(2);
  gates.shift()?.();
  await Promise.all(running);
  expect(reads).toBe(2);
});

test('the policies of the start are reported with their notes', async () => {
  const { lines, metrics, policies, policyFile } = setUp(async () => undefined);
  reportPolicies(policies, policyFile);
  expect(lines()).toMatchObject([{ event: 'policy_note', msg: 'a note' }]);
  expect(await metrics('config_info')).toEqual(['headgate_config_info{sha256="abc"} 1']);
});
