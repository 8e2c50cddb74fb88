/** How `headgate doctor --through` measures what a request costs. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { throughFindings } from '../../src/cli/doctor/through/client-view.ts';

/** The ids of the findings, if the request with this number, from 0 on, lowers Remaining by `taken(number)`. */
async function findings(taken: (number: number) => number, costs?: readonly number[]) {
  let count = 0;
  let remaining = 1_000;
  const server = createServer((_, response) => {
    remaining -= taken(count++);
    response.setHeader('X-RateLimit-Limit', '1000');
    response.setHeader('X-RateLimit-Remaining', String(remaining));
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const target = { url: new URL(`http://127.0.0.1:${port}/`) };
    const ids: string[] = [];
    const options = { target, now: Date.now, costs: costs && new Set(costs) };
    for await (const { rule } of throughFindings(options)) ids.push(rule);
    return { ids, count };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const FINE = ['through'];
const TWICE = ['counted-twice', 'through'];

test.each([
  ['the cost of a policy', () => 3, [1, 3], FINE],
  ['twice the cost of a policy', () => 6, [1, 3], TWICE],
  ['twice the cost, and requests of others', (i: number) => 2 + (i % 2), [1], TWICE],
  ['requests of others after the first one', (i: number) => (i === 1 ? 5 : 1), [1], FINE],
  ['requests of others, but not each time', (i: number) => (i === 4 ? 1 : 2), [1], FINE],
  ['less than a policy, by a limit that refills', () => 2, [3], FINE],
  ['costs that are not known', () => 2, undefined, FINE],
] as const)('%s', async (_, taken, costs, ids) => {
  expect((await findings(taken, costs)).ids).toEqual(ids);
});

test('a right cost needs no further request', async () => {
  const { count } = await findings(() => 1, [1]);
  expect(count).toBe(4);
  expect((await findings(() => 2, [1])).count).toBe(8);
});
