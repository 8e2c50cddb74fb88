import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { operatedGateway } from '../../../support/operated-gateway.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { NOON_MS } from '../../../support/requests.ts';

const WRITTEN = policySetFrom(`
version: 1
identity: { sources: [api_key, ip] }
default: { limits: [1000/1h], plans: { pro: [50/1h] } }`);
const SET = { ...WRITTEN, naming: { ...WRITTEN.naming, keysInStore: true } };

const setUp = () => operatedGateway({ policies: SET, now: () => NOON_MS });
const key = (id: string, fields: object = {}) => ({
  id,
  sha256: hash('sha256', id, 'hex'),
  ...fields,
});

test('an import adds keys; running it again changes nothing', async () => {
  const { operate, keys, audit } = setUp();
  const given = [
    key('acme', { plan: 'pro', expires: '2027-01-31' }),
    key('globex', { plan: null }),
  ];
  expect(await operate('importKeys', { keys: given, by: 'ada' })).toMatchObject({
    ...{ added: 2, changed: 0, unchanged: 0, refused: [] },
  });
  expect(keys.all).toMatchObject([
    { id: 'acme', plan: 'pro', endsMs: Date.parse('2027-01-31'), addedMs: NOON_MS },
    { id: 'globex', plan: undefined, endsMs: Number.POSITIVE_INFINITY, isBlocked: false },
  ]);
  expect(await operate('importKeys', { keys: given })).toMatchObject({ added: 0, unchanged: 2 });
  // The first import may have stopped before other gateways learned of the keys.
  expect(keys.announced).toEqual(keys.all.map(({ digest }) => digest));
  expect(audit).toMatchObject([
    { action: 'import_keys', change: 'imported: 2 added, 0 changed', by: 'ada' },
  ]);
});

test('an import changes the plan, and leaves blocked what operators blocked', async () => {
  const { operate, keys } = setUp();
  await operate('importKeys', { keys: [key('acme')] });
  await operate('changeKeys', { id: 'acme', blocked: true });
  const { changed } = await operate('importKeys', { keys: [key('acme', { plan: 'pro' })] });
  expect([changed, keys.all]).toMatchObject([1, [{ plan: 'pro', isBlocked: true }]]);
});

test('keys that cannot be taken are named, and the others are added', async () => {
  const { operate, keys } = setUp();
  await operate('importKeys', { keys: [key('acme')] });
  const { sha256 } = key('acme');
  const given = [
    { id: 'thief', sha256 },
    key('globex', { expires: 'soon' }),
    key('initech'),
    key('initech', { plan: 'pro' }),
    { ...key('initech'), id: 'umbrella' },
  ];
  const { refused, added, changed, unchanged } = await operate('importKeys', { keys: given });
  expect(refused).toEqual([
    {
      index: 0,
      message: expect.stringMatching(
        /another id has this key: revoke it there first \(headgate keys revoke acme --sha256 [0-9a-f]{12}\)/,
      ),
    },
    { index: 1, message: expect.stringMatching(/^expires: must be a date/) },
    { index: 4, message: expect.stringMatching(/another id has this key/) },
  ]);
  expect([added, changed, unchanged]).toEqual([1, 1, 0]);
  expect(keys.all.map(({ id, plan }) => [id, plan])).toEqual([
    ['acme', undefined],
    ['initech', 'pro'],
  ]);
});

test('keys of an unknown plan and keys that have ended are named, in each import', async () => {
  const { operate } = setUp();
  const given = [
    key('acme', { plan: 'pro' }),
    key('globex', { plan: 'prop' }),
    key('initech', { plan: 'prop', expires: '2020-01-31' }),
    key('globex', { plan: 'prop' }),
  ];
  const plan =
    'no policy has the plan "prop", did you mean "pro"?; until one has, the ordinary limits apply; the plans are pro';
  const ended = 'the end has passed, so such a key counts as unlisted';
  for (const added of [3, 0]) {
    expect(await operate('importKeys', { keys: given })).toMatchObject({
      added,
      doubtful: [
        { index: 1, message: plan },
        { index: 2, message: plan },
        { index: 2, message: ended },
        { index: 3, message: plan },
      ],
      warnings: ['this gateway has no Redis: the keys are lost when it ends'],
    });
  }
});

test('an import has 1 to 500 keys', async () => {
  const { operate } = setUp();
  for (const count of [0, 501]) {
    const keys = Array.from({ length: count }, (_, i) => key(`c${i}`));
    await expect(operate('importKeys', { keys })).rejects.toMatchObject({ code: 'invalid' });
  }
});
