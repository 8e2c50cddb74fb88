import { expect, test } from 'vitest';
import { compileListedClients } from '../../../../../src/gateway/core/identity/listed-clients.ts';
import { listedKeyPartition } from '../../../../../src/gateway/core/identity/partition.ts';

const sha256 = '0'.repeat(64);

test('a listed client is found by the partition of its requests', () => {
  const clients = compileListedClients(
    [
      { id: 'acme', sha256, plan: 'pro' },
      { id: 'globex', sha256, plan: undefined },
    ],
    () => true,
  );
  expect(clients.get(listedKeyPartition('acme'))).toEqual({ id: 'acme', plan: 'pro' });
  expect(clients.get(listedKeyPartition('globex'))).toEqual({ id: 'globex', plan: undefined });
  expect(clients.get('k.unlisted')).toBeUndefined();
});

test.each([
  [['pro', 'pro'], 'pro'],
  [['pro', undefined], undefined],
  [[undefined, 'pro'], undefined],
  [['pro', 'basic', 'pro'], undefined],
])('a client whose keys have the plans %j has the plan %s', (plans, plan) => {
  const clients = compileListedClients(
    plans.map((each) => ({ id: 'acme', sha256, plan: each })),
    () => true,
  );
  expect(clients.get(listedKeyPartition('acme'))).toEqual({ id: 'acme', plan });
});
