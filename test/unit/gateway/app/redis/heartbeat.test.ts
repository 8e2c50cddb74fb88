import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createHeartbeat, watchReplicas } from '../../../../../src/gateway/app/redis/heartbeat.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function setUp(beat: () => Promise<void> = async () => {}) {
  const replicas = { beat: vi.fn(beat), lostTouch: vi.fn(), place: () => ({ count: 3, rank: 1 }) };
  const monitor = { heartbeatAccepted: vi.fn(), heartbeatLost: vi.fn() };
  const onCounted = vi.fn();
  const heartbeat = createHeartbeat({ replicas, deadlineMs: 50, monitor, onCounted });
  return { heartbeat, replicas, monitor, onCounted };
}

test('a heartbeat is sent every two seconds until it is closed', async () => {
  const { heartbeat, replicas, monitor, onCounted } = setUp();
  await vi.advanceTimersByTimeAsync(1_999);
  expect(replicas.beat).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(4_001);
  expect(replicas.beat).toHaveBeenCalledTimes(3);
  expect(monitor.heartbeatAccepted).toHaveBeenCalledTimes(3);
  expect(onCounted.mock.calls).toEqual([[3], [3], [3]]);
  expect(monitor.heartbeatLost).not.toHaveBeenCalled();
  expect(replicas.lostTouch).not.toHaveBeenCalled();
  heartbeat.close();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(replicas.beat).toHaveBeenCalledTimes(3);
});

test('a heartbeat that Redis refuses is lost, and other gateways may have gone', async () => {
  const { heartbeat, replicas, monitor } = setUp(async () => {
    throw new Error('READONLY');
  });
  await vi.advanceTimersByTimeAsync(2_000);
  expect(replicas.lostTouch).toHaveBeenCalledOnce();
  expect(monitor.heartbeatLost.mock.calls).toEqual([[new Error('READONLY')]]);
  expect(monitor.heartbeatAccepted).not.toHaveBeenCalled();
  heartbeat.close();
});

test('a heartbeat without an answer is lost when its deadline is over', async () => {
  const { heartbeat, monitor } = setUp(() => new Promise(() => {}));
  await vi.advanceTimersByTimeAsync(2_049);
  expect(monitor.heartbeatLost).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(2);
  expect(monitor.heartbeatLost).toHaveBeenCalledOnce();
  heartbeat.close();
});

test('a new connection makes the number of gateways uncertain', () => {
  const { heartbeat, replicas } = setUp();
  heartbeat.reconnected();
  expect(replicas.lostTouch).toHaveBeenCalledOnce();
  expect(heartbeat.place()).toEqual({ count: 3, rank: 1 });
  heartbeat.close();
});

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
