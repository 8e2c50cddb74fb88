import { expect, test } from 'vitest';
import { SaltKeeper } from '../../../src/stores/salt-keeper.ts';

function keeperThatFails(times: number) {
  const failures: string[] = [];
  let tries = 0;
  const keeper = new SaltKeeper({
    refresh: async () => {
      tries++;
      if (tries <= times) throw new Error(`try ${tries}`);
    },
    onFailure: ({ message }) => failures.push(message),
  });
  return { keeper, failures, tries: () => tries };
}

test('salts are shared once it works, and not before', async () => {
  const { keeper, failures, tries } = keeperThatFails(2);
  await keeper.share();
  keeper.close();
  expect(failures).toEqual(['try 1', 'try 2']);
  expect(tries()).toBe(3);
});

test('who asks meanwhile waits for the same tries', async () => {
  const { keeper, tries } = keeperThatFails(1);
  await Promise.all([keeper.share(), keeper.share(), keeper.share()]);
  keeper.close();
  expect(tries()).toBe(2);
});

test('nobody tries on for a gateway that stops', async () => {
  const { keeper } = keeperThatFails(Number.POSITIVE_INFINITY);
  const shared = keeper.share();
  keeper.close();
  await shared;
});
