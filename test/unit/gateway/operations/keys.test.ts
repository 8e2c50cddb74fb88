/** What operators do with keys of the store, on a gateway in this process. */
import { hash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { clientText } from '../../../../src/gateway/operations/texts.ts';
import { operatedGateway } from '../../../support/operated-gateway.ts';
import { policySetFrom } from '../../../support/policies.ts';
import { NOON_MS } from '../../../support/requests.ts';

const IN_FILE = 'key-in-file';
const WRITTEN = policySetFrom(`
version: 1
identity:
  sources: [api_key, ip]
  api_key: { keys: [{ id: filed, sha256: ${hash('sha256', IN_FILE, 'hex')}, plan: pro }] }
default: { limits: [1000/1h], plans: { free: [10/1h], pro: [50/1h] } }
policies: [{ name: login, match: { path: /login }, limits: [2/5min], plans: { pro: [3/5min] } }]`);
const SET = { ...WRITTEN, naming: { ...WRITTEN.naming, keysInStore: true } };
const IN_STORE = policySetFrom(`
version: 1
identity: { sources: [api_key, ip], api_key: { keys: redis } }
default: { limits: [10/1h], plans: { pro: [50/1h] } }`);

const DAY_MS = 86_400_000;
const at = (ms: number) => new Date(ms).toISOString();
const sha256 = (key: string) => hash('sha256', key, 'hex');
const LOST = 'this gateway has no Redis: the keys are lost when it ends';

beforeEach(() => void vi.useFakeTimers({ now: NOON_MS }));
afterEach(() => void vi.useRealTimers());

const setUp = (policies = SET) => operatedGateway({ policies, now: Date.now });
const failure = (code: string, message: RegExp) => ({
  code,
  message: expect.stringMatching(message),
});

describe('add', () => {
  test('answers the key once, and keeps its digest alone', async () => {
    const { operate, keys, audit } = setUp();
    const { key, added, warnings } = await operate('addKey', {
      ...{ id: 'acme', plan: 'pro', expires: '90d', comment: 'a "customer"', by: 'ada' },
      reason: 'a new contract',
    });
    expect(key).toMatch(/^hg_[\w-]{43}$/);
    const ends = at(NOON_MS + 90 * DAY_MS);
    expect(added).toEqual({
      ...{ id: 'acme', sha256: sha256(key), plan: 'pro', comment: 'a "customer"' },
      ...{ added: at(NOON_MS), ends, state: 'valid' },
    });
    expect(warnings).toEqual([LOST]);
    const everything = JSON.stringify([keys.all, audit, await operate('listKeys', { id: 'acme' })]);
    expect(everything).not.toContain(key);
    expect(audit).toMatchObject([
      {
        ...{ action: 'add_key', client_id: 'acme', by: 'ada', reason: 'a new contract' },
        subject: keys.all[0]?.partition,
        change: `added: plan pro, ends ${ends.slice(0, 19).replace('T', ' ')} UTC, not blocked, "a \\"customer\\""`,
      },
    ]);
  });

  test.each([
    ['2027-01-31', '2027-01-31T00:00:00.000Z'],
    ['2027-01-31T18:00:00+02:00', '2027-01-31T16:00:00.000Z'],
    ['36500d', at(NOON_MS + 36_500 * DAY_MS)],
    ['never', undefined],
    [undefined, undefined],
  ])('with expires %s ends at %s', async (expires, ends) => {
    const { added } = await setUp().operate('addKey', { id: 'acme', expires });
    expect(added.ends).toBe(ends);
  });

  test.each(['2026-01-31', '90', '0d', '-1d', '999999999d', 'soon', ' '])(
    'with expires %j is refused',
    async (expires) => {
      const gateway = setUp();
      await expect(gateway.operate('addKey', { id: 'acme', expires })).rejects.toMatchObject(
        failure('invalid', /^expires: /),
      );
      expect([gateway.keys.all, gateway.audit]).toEqual([[], []]);
    },
  );

  test.each([
    [{ id: '' }, /^id: must not be empty$/],
    [{ id: 'a\0b' }, /^id: must not contain control characters$/],
    [{ id: '\ud800' }, /^id: must/],
    [{ id: 'x'.repeat(65) }, /^id: must have at most 64/],
    [{ plan: 'Pro!' }, /^plan: must have 1 to 64 characters/],
    [{ comment: 'a\nb' }, /^comment: must not contain control/],
  ])('with %j is refused', async (fields, message) => {
    const run = setUp().operate('addKey', { id: 'acme', ...fields });
    await expect(run).rejects.toMatchObject(failure('invalid', message));
  });

  test('of an id that the policy file lists is refused with the remedy', async () => {
    await expect(setUp().operate('addKey', { id: 'filed' })).rejects.toMatchObject(
      failure('not_possible', /policy file lists a key with this id: choose another id, or take/),
    );
  });

  test('of an id that has a key is refused, unless it is another one', async () => {
    const { operate, keys } = setUp();
    await operate('addKey', { id: 'acme', plan: 'pro' });
    await operate('changeKeys', { id: 'acme', blocked: true });
    await expect(operate('addKey', { id: 'acme' })).rejects.toMatchObject(
      failure('not_possible', /headgate keys rotate.*headgate keys add --another/),
    );
    const { added } = await operate('addKey', { id: 'acme', another: true });
    expect(added).toMatchObject({ plan: 'pro', state: 'blocked' });
    expect(keys.all.map(({ partition }) => partition)).toEqual(
      Array(2).fill(keys.all[0]?.partition),
    );
  });

  test('warns of a plan that no policy has', async () => {
    const { warnings } = await setUp().operate('addKey', { id: 'acme', plan: 'prop' });
    expect(warnings).toEqual([
      'no policy has the plan "prop", did you mean "pro"?; until one has, the ordinary limits apply; the plans are pro and free',
      LOST,
    ]);
  });
});

describe('rotate', () => {
  test('makes a key with the same plan, and ends the others after the overlap', async () => {
    const { operate, keys } = setUp();
    const first = await operate('addKey', {
      id: 'acme',
      plan: 'pro',
      comment: 'them',
      expires: '90d',
    });
    vi.setSystemTime(NOON_MS + DAY_MS);
    const { key, added, others, removed } = await operate('rotateKey', { id: 'acme' });
    expect(added).toMatchObject({
      ...{ plan: 'pro', comment: 'them', ends: first.added.ends, added: at(NOON_MS + DAY_MS) },
      sha256: sha256(key),
    });
    expect(others).toMatchObject([
      { sha256: first.added.sha256, ends: at(NOON_MS + 2 * DAY_MS), state: 'valid' },
    ]);
    expect(removed).toBe(0);
    // The first ends earlier than the overlap of the second rotation says.
    const again = await operate('rotateKey', { id: 'acme', overlap: '7d' });
    expect(again.others.find((each) => each.sha256 === first.added.sha256)?.ends).toBe(
      at(NOON_MS + 2 * DAY_MS),
    );
    vi.setSystemTime(NOON_MS + 3 * DAY_MS);
    expect(await operate('rotateKey', { id: 'acme', overlap: '0' })).toMatchObject({
      ...{ removed: 3, others: [] },
    });
    expect(keys.all).toHaveLength(1);
  });

  test('of a blocked id makes a blocked key', async () => {
    const { operate } = setUp();
    await operate('addKey', { id: 'acme' });
    await operate('changeKeys', { id: 'acme', blocked: true });
    expect((await operate('rotateKey', { id: 'acme' })).added.state).toBe('blocked');
  });

  test('of an ended key needs an end', async () => {
    const { operate } = setUp();
    await operate('addKey', { id: 'acme', expires: '1d' });
    vi.setSystemTime(NOON_MS + DAY_MS);
    await expect(operate('rotateKey', { id: 'acme' })).rejects.toMatchObject(
      failure('not_possible', /has ended: say with expires/),
    );
    const { added, removed } = await operate('rotateKey', { id: 'acme', expires: 'never' });
    expect([added.ends, removed]).toEqual([undefined, 1]);
  });

  test.each(['', '1', '-1h', '1w'])('with the overlap %j is refused', async (overlap) => {
    const { operate } = setUp();
    await operate('addKey', { id: 'acme' });
    await expect(operate('rotateKey', { id: 'acme', overlap })).rejects.toMatchObject(
      failure('invalid', /^overlap: .*24h, or 0$/),
    );
  });
});

describe('change', () => {
  test('changes the keys of an id, and removes what is empty', async () => {
    const { operate, audit } = setUp();
    await operate('addKey', { id: 'acme', plan: 'free', comment: 'a trial' });
    await operate('addKey', { id: 'acme', another: true });
    const { keys } = await operate('changeKeys', { id: 'acme', plan: 'pro', comment: '' });
    expect(keys).toMatchObject([{ plan: 'pro' }, { plan: 'pro' }]);
    expect(keys.some((each) => 'comment' in each)).toBe(false);
    for (const plan of ['', null]) {
      await operate('changeKeys', { id: 'acme', plan });
      expect((await operate('listKeys', { id: 'acme' })).keys[0]).not.toHaveProperty('plan');
    }
    expect(audit.slice(2).map(({ change }) => change)).toEqual([
      'plan pro, ""',
      'no plan',
      'no plan',
    ]);
  });

  test('of one key leaves the others as they are', async () => {
    const { operate } = setUp();
    const one = await operate('addKey', { id: 'acme' });
    await operate('addKey', { id: 'acme', another: true });
    const start = one.added.sha256.slice(0, 8);
    await operate('changeKeys', { id: 'acme', sha256: start, blocked: true });
    const { keys } = await operate('listKeys', { id: 'acme' });
    expect(keys.map(({ state }) => state)).toEqual(['blocked', 'valid']);
  });

  test('of the end needs one key, so that a rotated key does not live on', async () => {
    const { operate } = setUp();
    const { added: old } = await operate('addKey', { id: 'acme' });
    const { added } = await operate('rotateKey', { id: 'acme' });
    const names = new RegExp(`${old.sha256.slice(0, 12)}.*${added.sha256.slice(0, 12)}`);
    await expect(operate('changeKeys', { id: 'acme', expires: '90d' })).rejects.toMatchObject(
      failure('not_possible', names),
    );
    const { keys } = await operate('changeKeys', {
      ...{ id: 'acme', expires: '90d', sha256: added.sha256 },
    });
    expect(keys).toMatchObject([{ sha256: added.sha256, ends: at(NOON_MS + 90 * DAY_MS) }]);
  });

  test('of nothing is refused', async () => {
    const { operate } = setUp();
    await operate('addKey', { id: 'acme' });
    await expect(operate('changeKeys', { id: 'acme' })).rejects.toMatchObject(
      failure('invalid', /^nothing to change/),
    );
  });
});

describe('revoke', () => {
  test('removes the keys of an id, or one of them', async () => {
    const { operate, keys } = setUp();
    const { added } = await operate('addKey', { id: 'acme' });
    for (let i = 0; i < 2; i++) await operate('addKey', { id: 'acme', another: true });
    const sha = added.sha256.slice(0, 10);
    expect(await operate('revokeKeys', { id: 'acme', sha256: sha })).toMatchObject({
      ...{ revoked: [{ sha256: added.sha256 }], left: 2 },
    });
    expect((await operate('revokeKeys', { id: 'acme' })).left).toBe(0);
    expect(keys.all).toEqual([]);
  });

  test.each([
    ['nobody', {}, /the store has no key with this id; headgate keys list/],
    ['filed', {}, /the policy file has one: change it there/],
    ['acme', { sha256: '00000000' }, /name one key of this id by the first digits/],
  ])('of %s with %j finds nothing', async (id, fields, message) => {
    const { operate, keys } = setUp();
    await operate('addKey', { id: 'acme' });
    await expect(operate('revokeKeys', { id, ...fields })).rejects.toMatchObject(
      failure('not_found', message),
    );
    expect(keys.all).toHaveLength(1);
  });
});

describe('a key that is revoked at the same time stays so', () => {
  /** Somebody else revokes what an operation has read. */
  async function revokedMeanwhile() {
    const gateway = setUp();
    const { operate, keys } = gateway;
    const { added } = await operate('addKey', { id: 'acme', plan: 'free' });
    const { ofId, ofDigests } = keys;
    vi.spyOn(keys, 'ofId').mockImplementation(async (id) => {
      const found = await ofId(id);
      await keys.remove(found);
      return found;
    });
    vi.spyOn(keys, 'ofDigests').mockImplementation(async (digests) => {
      const found = await ofDigests(digests);
      await keys.remove(found.filter((each) => each !== undefined));
      return found;
    });
    return { ...gateway, sha: added.sha256 };
  }

  test.each([
    ['changeKeys', { plan: 'pro' }],
    ['changeKeys', { plan: 'pro', sha256: 'its own' }],
    ['rotateKey', {}],
    ['rotateKey', { overlap: '0' }],
  ] as const)('after %s with %j', async (name, fields) => {
    const { operate, keys, sha } = await revokedMeanwhile();
    const sha256 = 'sha256' in fields ? { sha256: sha } : {};
    await expect(operate(name, { id: 'acme', ...fields, ...sha256 })).rejects.toMatchObject(
      failure('not_found', /revoked at the same time, so nothing was changed/),
    );
    expect(keys.all).toEqual([]);
  });

  test('after an import that changes it', async () => {
    const { operate, keys, sha } = await revokedMeanwhile();
    await operate('importKeys', { keys: [{ id: 'acme', sha256: sha, plan: 'pro' }] });
    expect(keys.all).toEqual([]);
  });
});

test('list has pages', async () => {
  const { operate } = setUp();
  for (const id of ['c', 'a', 'b']) await operate('addKey', { id });
  const first = await operate('listKeys', { count: 2 });
  expect(first.keys.map(({ id }) => id)).toEqual(['a', 'b']);
  const last = await operate('listKeys', { count: 2, after: first.next });
  expect([last.keys.map(({ id }) => id), last.next]).toEqual([['c'], undefined]);
});

test.each([
  ['addKey', { id: 'acme' }],
  ['listKeys', {}],
  ['changeKeys', { id: 'acme', blocked: true }],
  ['rotateKey', { id: 'acme' }],
  ['revokeKeys', { id: 'acme' }],
  ['importKeys', { keys: [{ id: 'acme', sha256: '0'.repeat(64) }] }],
] as const)('%s names the line that the policy file needs', async (name, input) => {
  await expect(setUp(WRITTEN).operate(name, input)).rejects.toMatchObject(
    failure('not_possible', /write "keys: redis" under identity.api_key/),
  );
});

describe('while the store is down', () => {
  test('a change is not confirmed, and logged so', async () => {
    const { operate, keys, audit } = setUp();
    vi.spyOn(keys, 'ofId').mockResolvedValue([]);
    keys.isDown = true;
    await expect(operate('addKey', { id: 'acme' })).rejects.toMatchObject(
      failure('store_unavailable', /may or may not have been made/),
    );
    expect(audit).toMatchObject([{ change: expect.stringMatching(/not confirmed by Redis/) }]);
  });

  test('nothing is listed', async () => {
    const { operate, keys } = setUp();
    keys.isDown = true;
    await expect(operate('listKeys')).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});

describe('the client of a key of the store', () => {
  test('is named by its id and by its key, with its plan, source and end', async () => {
    const { operate } = setUp();
    const { key, added } = await operate('addKey', { id: 'acme', plan: 'pro', expires: '90d' });
    const shown = await operate('inspect', { client: 'id:acme' });
    expect(shown).toMatchObject({
      ...{ client_id: 'acme', plan: 'pro', key_source: 'memory', key_ends: added.ends },
    });
    expect(shown.limits.map(({ allows }) => allows)).toEqual(
      expect.arrayContaining(['3 requests per 5 minutes']),
    );
    expect((await operate('inspect', { client: `key:${key}` })).client).toBe(shown.client);
    const blocked = await operate('block', {
      ...{ client: 'id:acme', for: '10min', reason: 'a test', by: 'ada' },
    });
    expect(blocked).toMatchObject({ client: shown.client, client_id: 'acme', plan: 'pro' });
    const { overrides } = await operate('listOverrides');
    expect(overrides).toMatchObject([{ client_id: 'acme', plan: 'pro' }]);
  });

  test('is explained with its plan, what names it, and its end', async () => {
    const { operate } = setUp(IN_STORE);
    const { key } = await operate('addKey', { id: 'acme', plan: 'pro', expires: '1d' });
    const identityOf = async () => {
      const { steps } = await operate('explain', { url: '/', headers: { 'x-api-key': key ?? '' } });
      return steps.filter(({ about }) => about === 'identity').map(({ what }) => what);
    };
    expect(await identityOf()).toEqual([
      'api_key identifies the client',
      'ip is not used: an earlier source identifies the client',
      'the store names the plan pro',
      expect.stringMatching(/^the store has the key: id:acme \(plan pro\) until .* UTC, in 24 h$/),
    ]);
    vi.setSystemTime(NOON_MS + DAY_MS + 3_600_000);
    expect(await identityOf()).toEqual([
      'api_key identifies the client; the key counts as unlisted, so the address is charged too',
      'ip is not used: an earlier source identifies the client',
      expect.stringMatching(
        /^the store has the key: id:acme until .* UTC, 60 min ago, so it is not listed now$/,
      ),
    ]);
  });

  test('is blocked if its keys are', async () => {
    const { operate } = setUp();
    await operate('addKey', { id: 'acme' });
    await operate('changeKeys', { id: 'acme', blocked: true });
    expect(await operate('inspect', { client: 'id:acme' })).toMatchObject({
      access: 'blocked',
      listed: [
        {
          ...{ list: 'block', entry: 'key acme', is_in_store: true },
          what: 'key acme is blocked (headgate keys): headgate keys change acme --unblock',
        },
      ],
    });
  });

  test('is not called unknown while the store is down', async () => {
    const { operate, keys } = setUp(IN_STORE);
    const { key } = await operate('addKey', { id: 'acme' });
    const unread = 'the key could not be looked up: Redis did not answer, or the address has';
    const explained = async (sent: string) => {
      const { steps } = await operate('explain', { url: '/', headers: { 'x-api-key': sent } });
      return steps.some(({ what }) => what.startsWith(unread));
    };
    expect([await explained(key), await explained('invented')]).toEqual([false, false]);
    keys.isDown = true;
    expect(await explained(key)).toBe(true);
  });

  test('with a plan that no policy has is shown so', async () => {
    const { operate } = setUp();
    await operate('addKey', { id: 'acme', plan: 'premuim' });
    const shown = await operate('inspect', { client: 'id:acme' });
    expect(shown).toMatchObject({ plan: 'premuim', is_plan_unknown: true });
    expect(clientText(shown)).toBe('id:acme (plan premuim, which no policy has)');
    await operate('changeKeys', { id: 'acme', plan: 'pro' });
    expect(clientText(await operate('inspect', { client: 'id:acme' }))).toBe('id:acme (plan pro)');
  });

  test('is not unblocked as if an override blocked it', async () => {
    const { operate } = setUp();
    await operate('addKey', { id: 'acme' });
    const unblock = () => operate('unblock', { client: 'id:acme', by: 'ada' });
    await expect(unblock()).rejects.toThrow(/^no operator blocked this client; if it is over/);
    await operate('changeKeys', { id: 'acme', blocked: true });
    await expect(unblock()).rejects.toMatchObject(
      failure('not_found', /its key is blocked \(headgate keys\): .* keys change acme --unblock$/),
    );
  });

  test('is told what blocked it, and whether it still does', async () => {
    const { operate, visit, keys } = setUp(IN_STORE);
    const { key } = await operate('addKey', { id: 'acme' });
    await operate('changeKeys', { id: 'acme', blocked: true });
    const { denial } = await visit({ headers: { 'x-api-key': key } });
    const decision = async () => operate('decision', { id: denial?.id });
    const found = await decision();
    expect(found).toMatchObject({
      ...{ blocked_by: 'key', blocked_key: 'acme' },
      cause:
        'the key is blocked in this gateway (headgate keys); still blocked: headgate keys change acme --unblock',
    });
    expect(found).not.toHaveProperty('listed_at');
    const { clients } = await operate('top');
    expect(clients).toMatchObject([
      { cause: 'the key was blocked in this gateway (headgate keys)' },
    ]);
    keys.isDown = true;
    expect((await decision()).cause).toBe('the key was blocked in this gateway (headgate keys)');
    keys.isDown = false;
    await operate('changeKeys', { id: 'acme', blocked: false });
    expect((await decision()).cause).toBe(
      'the key was blocked in this gateway (headgate keys); it has been unblocked or revoked since',
    );
  });

  test('is found by what checks know while the store is down', async () => {
    const { operate, keys } = setUp();
    await operate('addKey', { id: 'acme' });
    const { client } = await operate('inspect', { client: 'id:acme' });
    keys.isDown = true;
    expect((await operate('inspect', { client: 'id:acme' })).client).toBe(client);
    await expect(operate('inspect', { client: 'id:globex' })).rejects.toMatchObject({
      code: 'store_unavailable',
    });
  });

  test('is searched by its text while the store is down, and no key is sent to other gateways', async () => {
    const { operate, keys, gateway } = setUp();
    const asked = vi.spyOn(gateway, 'queryAll');
    keys.isDown = true;
    await operate('findDenied', { filter: 'id:acme' });
    await operate('findDenied', { filter: 'key:hg_secret' });
    expect(asked.mock.calls).toMatchObject([
      [{ filter: { part: 'id:acme' } }],
      [{ filter: { clients: [] } }],
    ]);
  });

  test('is unlisted once its key has ended', async () => {
    const { operate } = setUp();
    const { key } = await operate('addKey', { id: 'acme', expires: '1d' });
    vi.setSystemTime(NOON_MS + DAY_MS);
    const shown = await operate('inspect', { client: `key:${key}` });
    expect(shown).toMatchObject({
      ...{ client: expect.stringMatching(/^k\./), ended_key: 'acme' },
      key_ends: at(NOON_MS + DAY_MS),
    });
    expect(shown.limits).not.toEqual([]);
    const ofId = await operate('inspect', { client: 'id:acme' });
    expect(ofId).toMatchObject({ client_id: 'acme', ended_key: 'acme', limits: [] });
    await operate('addKey', { id: 'acme', another: true });
    expect(await operate('inspect', { client: 'id:acme' })).not.toHaveProperty('ended_key');
  });

  test.each(['id:nobody', 'id:file'])('%s is no client', async (client) => {
    await expect(setUp().operate('inspect', { client })).rejects.toMatchObject(
      failure('not_found', /no key in the policy file or in the store has this id/),
    );
  });

  test('of the policy file takes precedence', async () => {
    const { operate } = setUp();
    await operate('importKeys', { keys: [{ id: 'filed', sha256: sha256('k'), plan: 'free' }] });
    for (const client of ['id:filed', `key:${IN_FILE}`])
      expect(await operate('inspect', { client })).toMatchObject({
        plan: 'pro',
        key_source: 'file',
      });
  });
});
