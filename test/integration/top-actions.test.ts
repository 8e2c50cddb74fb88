/** What the actions of `headgate top` do, and what it says of them. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeChange } from '../../src/cli/top/changes.ts';
import { type Answers, type Form, startForm } from '../../src/cli/top/form.ts';
import { type DeniedClient, gather } from '../../src/cli/top/gather.ts';
import { explainClient, liftForm } from '../../src/cli/top/why.ts';
import type { Gateway } from '../support/gateway.ts';
import { newAddress, operate, policyFile, startOperated, visit } from '../support/operations.ts';
import { freePort } from '../support/ports.ts';

const started = new AsyncDisposableStack();
let gateway: Gateway;

beforeAll(async () => {
  gateway = started.use(await startOperated(policyFile(started)));
});
afterAll(() => started.disposeAsync());

const TERMS = { reason: 'a test', for: '10min' } as const;

function formFor(action: Form['action'], id: string, answers: Answers = TERMS): Form {
  return { ...startForm(action, { id, name: 'it' }), answers };
}

function change(form: Form, url = gateway.opsUrl) {
  return makeChange(form, { flags: { gateway: url }, by: 'ada' });
}

/** The row of a client that is denied now. */
async function denied(address: string): Promise<DeniedClient> {
  for (;;) {
    const { headers } = await visit(gateway, 'POST /pin', { address });
    const id = headers['x-ratelimit-decision-id'];
    if (id === undefined) continue;
    const { clients } = (await gather({ gateway: gateway.opsUrl })).read().denied;
    const row = clients.find((each) => each.decision_id === id);
    if (row !== undefined) return row;
  }
}

test('reset lets the client in, with and without a reason', async () => {
  for (const reason of ['a test', '']) {
    const address = newAddress();
    const { decision_id: id } = await denied(address);
    const notice = await change(formFor('reset', id, { reason }));
    expect(notice).toMatchObject({
      level: 'good',
      text: expect.stringMatching(/^it: counters reset: pin, /),
    });
    expect(await visit(gateway, 'POST /pin', { address })).toMatchObject({ status: 200 });
  }
});

test('block, exempt and what lifts them', async () => {
  const address = newAddress();
  const row = await denied(address);
  const flags = { gateway: gateway.opsUrl };
  expect(await liftForm(row, flags)).toMatch(/^no override is in force for i\./);
  for (const [action, access, lifts, status] of [
    ['block', 'blocked', 'unblock', 403],
    ['exempt', 'exempt', 'unexempt', 200],
  ] as const) {
    const notice = await change(formFor(action, row.decision_id));
    expect(notice.text).toMatch(
      new RegExp(`^i\\.\\S+: ${access} until .* UTC, in 10 min, "a test"`),
    );
    expect(await visit(gateway, 'POST /pin', { address })).toMatchObject({ status });
    const lift = await liftForm(row, flags);
    expect(lift).toMatchObject({
      action: lifts,
      note: expect.stringMatching(/by ada, "a test"$/),
    });
    expect((await change(lift as Form)).text).toMatch(/: override removed$/);
  }
  expect(await visit(gateway, 'POST /pin', { address })).toMatchObject({ status: 429 });
});

test('the mode of a policy, and the return to the mode of the file', async () => {
  const set = await change(formFor('mode', 'search', { ...TERMS, mode: 'off' }));
  expect(set.text).toMatch(/^search: off until .* UTC, in 10 min, "a test"$/);
  const { answer } = await operate<{ policies: { name: string; mode: string }[] }>(
    gateway,
    'GET /v1/policies',
  );
  expect(answer.policies).toContainEqual(expect.objectContaining({ name: 'search', mode: 'off' }));
  const restored = await change(formFor('restore', 'search', {}));
  expect(restored).toMatchObject({ level: 'good' });
  expect(await change(formFor('restore', 'search', {}))).toEqual({
    level: 'bad',
    text: 'restore it: there is no override for the policy "search"',
  });
});

test('why: the denial, also if the rest cannot be had', async () => {
  const row = await denied(newAddress());
  const lines = await explainClient(row, { gateway: gateway.opsUrl });
  expect(lines).toContainEqual(`decision  ${row.decision_id}`);
  expect(lines).toContainEqual(expect.stringMatching(/^now +remaining: 0/));
  expect(lines).toContainEqual(expect.stringMatching(/^LIMIT +ALLOWS +LEFT +NEXT REQUEST$/));
  expect(lines).toContainEqual(expect.stringMatching(/^pin +2 requests per day +0 +in 2[34] h$/));
  const gone = { ...row, decision_id: '000000000000-1' };
  expect((await explainClient(gone, { gateway: gateway.opsUrl }))[0]).toMatch(
    /^no gateway knows the decision 000000000000-1/,
  );
});

test('an answer that is lost leaves open whether the change was made', async () => {
  await using server = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const notice = await change(formFor('block', 'i.a'), `http://127.0.0.1:${port}`);
  expect(notice).toMatchObject({
    level: 'bad',
    text: expect.stringMatching(/^block it: not confirmed, .*may or may not have been made/),
  });
});

test('without a gateway nothing was changed', async () => {
  const notice = await change(formFor('block', 'i.a'), `http://127.0.0.1:${await freePort()}`);
  expect(notice.text).toMatch(/^block it: nothing was changed: no gateway answers/);
});
