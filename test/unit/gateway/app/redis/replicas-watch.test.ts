import { expect, test, vi } from 'vitest';
import { watchReplicas } from '../../../../../src/gateway/app/redis/replicas-watch.ts';

function beats(counts: readonly number[], settings: object = {}) {
  const onMore = vi.fn();
  const counted = watchReplicas({ replicas: 1, workers: 1, onMore, ...settings });
  for (const count of counts) counted(count);
  return onMore.mock.calls;
}
const steadily = (count: number, times = 100) => new Array<number>(times).fill(count);

test('several gateways are reported once, when they have counted together for half a minute', () => {
  expect(beats(steadily(3, 14))).toEqual([]);
  expect(beats(steadily(3))).toEqual([[3]]);
});

test('a gateway that replaces another is not reported', () => {
  expect(beats([...steadily(1), ...steadily(2, 10), ...steadily(1)])).toEqual([]);
});

test('workers of one gateway are one, and the first reports for all', () => {
  expect(beats(steadily(4), { workers: 4, worker: 0 })).toEqual([]);
  expect(beats(steadily(8), { workers: 4, worker: 0 })).toEqual([[2]]);
  expect(beats(steadily(8), { workers: 4, worker: 3 })).toEqual([]);
});

test('nothing is reported if the number is set', () => {
  expect(beats(steadily(5), { replicas: 3 })).toEqual([]);
});
