import { expect, test } from 'vitest';
import { Refresher } from '../../../src/app/refresher.ts';

function keeperThatFails(times: number) {
  const failures: string[] = [];
  let tries = 0;
  const keeper = new Refresher({
    everyMs: 60_000,
    refresh: async () => {
      tries++;
      if (tries <= times) throw new Error(`try ${tries}`);
    },
    onFailure: ({ message }) => failures.push(message),
  });
  return { keeper, failures, tries: () => tries };
}

test('what all know is known once it works, and not before', async () => {
  const { keeper, failures, tries } = keeperThatFails(2);
  await keeper.refresh();
  keeper.close();
  expect(failures).toEqual(['try 1', 'try 2']);
  expect(tries()).toBe(3);
});

test('who asks meanwhile waits for the same tries', async () => {
  const { keeper, tries } = keeperThatFails(1);
  await Promise.all([keeper.refresh(), keeper.refresh(), keeper.refresh()]);
  keeper.close();
  expect(tries()).toBe(2);
});

test('nobody tries on for a gateway that stops', async () => {
  const { keeper } = keeperThatFails(Number.POSITIVE_INFINITY);
  const shared = keeper.refresh();
  keeper.close();
  await shared;
});
