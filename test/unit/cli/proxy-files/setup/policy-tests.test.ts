/** The tests that are written beside a policy file: each is there only if what it tests is. */
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { DEFAULT_ANSWERS } from '../../../../../src/cli/proxy-files/setup/answers.ts';
import { policyTests } from '../../../../../src/cli/proxy-files/setup/policy-tests.ts';
import { setupFiles } from '../../../../../src/cli/proxy-files/setup/setup.ts';
import { runFiles } from '../../../../support/policy-tests.ts';

const LOGIN = 'the sixth login in five minutes waits';
const KEY_LOGINS = 'all keys of one address together log in 15 times in five minutes';
const KEYS = 'invented keys get no more than no key';
const CLOUDFLARE = 'clients behind Cloudflare have a limit each, and nobody else can use it up';

const FRONT = { kind: 'cloudflare' } as const;

test.each([
  [{ login: undefined, keys: false, front: undefined }, ['everything has']],
  [{ login: '/in', keys: false, front: undefined }, [LOGIN, 'everything else has']],
  [{ login: undefined, keys: true, front: undefined }, ['everything has', KEYS]],
  [
    { login: '/in', keys: true, front: FRONT },
    [LOGIN, 'everything else has', KEY_LOGINS, KEYS, CLOUDFLARE],
  ],
  [{ login: undefined, keys: false, front: FRONT }, ['everything has', CLOUDFLARE]],
  [
    { login: '/in', keys: false, front: { kind: 'load-balancer', networks: ['10.0.0.0/8'] } },
    [LOGIN, 'everything else has'],
  ],
] as const)('%j', async (answers, names) => {
  const text = policyTests(answers as never);
  const { tests, clients, api_keys: keys } = parse(text);
  const own = tests.map(({ name }: { name: string }) => name.replace(/ has \d.*/, ' has'));
  expect(
    own.map((name: string) => name.replace(/together log in \d+/, 'together log in 15')),
  ).toEqual(names);
  expect(Object.hasOwn(clients, 'carol')).toBe(names.includes(CLOUDFLARE as never));
  expect(Object.hasOwn(clients, 'eve')).toBe(answers.keys);
  expect(Array.isArray(keys)).toBe(answers.keys);
  // They hold for the policy file of the same answers.
  const files = setupFiles({ ...DEFAULT_ANSWERS, ...answers } as never);
  const policies = files.find(({ name }) => name === 'policies.yaml')?.text ?? '';
  const run = await runFiles({ 'policies.yaml': policies, 'policies_test.yaml': text });
  expect(run.files.flatMap((file) => file.tests.flatMap(({ failures }) => failures))).toEqual([]);
});
