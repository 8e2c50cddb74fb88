/** docs/sizing.md: its tables are what the model computes. Its figures, and those of other pages, are in bench/README.md. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { COSTS, costTable, figure, perRedis, planTable } from '../../tools/sizing.ts';

const PAGE = readFileSync(new URL('../../docs/sizing.md', import.meta.url), 'utf8');

test('its tables are those of the model (else: node tools/sizing.ts prints them)', () => {
  expect(PAGE).toContain(`\n${costTable()}\n`);
  expect(PAGE).toContain(`\n${planTable()}\n`);
});

test('what one Redis server takes is what the model says', () => {
  const [few, , many] = COSTS.map((cost) => perRedis(cost).toLocaleString('en'));
  expect(PAGE).toContain(`one Redis takes ${few} decisions/s`);
  expect(PAGE).toContain(`${many} if many do`);
});

const BENCH = readFileSync(new URL('../../bench/README.md', import.meta.url), 'utf8');
const BENCH_ROWS = BENCH.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));

const AT_A_GLANCE = 'CPU us/decision, with Redis';

test.each([
  ['at-a-glance.ts', '**headgate**, memory', AT_A_GLANCE, '| 29.6 us |'],
  ['at-a-glance.ts', '**headgate**, Redis', AT_A_GLANCE, '| 57.8 us |'],
  ['at-a-glance.ts', '**headgate**, Redis, one denied client', AT_A_GLANCE, '| 38.5 us,'],
  ['three-limits.ts', 'three limits', 'Redis CPU, times one', '| 2.28 times |'],
  ['three-limits.ts', 'three limits', 'CPU, times one', '| 1.15 times |'],
  ['many-policies.ts', '10000 policies', 'CPU, times 10', '| 1.16 times |'],
  ['many-keys.ts', 'Redis, 1,000,000 keys', 'CPU, times 1,000', '| 1.12 times |'],
  ['many-keys.ts', 'Redis, 1,000,000 keys', 'Redis CPU, times 1,000', '| 1.33 times |'],
  ['start-and-memory.ts', 'headgate, Redis', 'idle, MiB', '| 102 MiB with Redis'],
  ['start-and-memory.ts', 'headgate, Redis', 'under load, MiB', '| 353 MiB;'],
  ['through-proxies.ts', 'NGINX: empty server', 'p50, ms', 'from 0.26 ms'],
  ['through-proxies.ts', 'NGINX: headgate, Redis', 'p50, ms', '0.74 ms with Redis'],
  ['through-proxies.ts', 'Envoy, HTTP: headgate, Redis', 'p50, ms', 'and 1.06 ms'],
  ['through-proxies.ts', 'NGINX: headgate, Redis', 'proxy CPU us/request', '43 us'],
  ['through-proxies.ts', 'NGINX: headgate, Redis', 'p99, ms', '52.56 ms with Redis'],
  ['through-proxies.ts', 'NGINX: headgate, memory', 'p99, ms', '13.84 ms in memory'],
  ['grpc-cost.ts', 'gRPC, Redis', 'CPU us/request', '58.2 us'],
  ['grpc-cost.ts', 'HTTP, Redis', 'CPU us/request', '35.5 us'],
])('%s: %s, %s', (file, row, column, shown) => {
  expect(shown).toContain(String(figure(file, row, column)));
  expect(PAGE).toContain(shown);
});

const read = (page: string) => readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');

test('docs/comparison.md has the figures of the benchmark', () => {
  const [peer, own] = ['envoyproxy/ratelimit, Redis', '**headgate**, Redis'].map(
    (row) =>
      BENCH_ROWS.find((cells) => cells[1] === row && cells[2] === 'gRPC')?.[4]?.split(' ')[0],
  );
  expect(read('comparison.md')).toContain(
    `a decision took ${peer} us of CPU with Redis, and ${own} us in headgate`,
  );
});

test('docs/faq.md has the latency that the benchmark measured', () => {
  const [empty, memory, redis] = ['empty server', 'headgate, memory', 'headgate, Redis'].map(
    (row) => figure('through-proxies.ts', `NGINX: ${row}`, 'p50, ms'),
  );
  const added = (after = 0) => (after - (empty ?? 0)).toFixed(2);
  expect(read('faq.md')).toContain(
    `grew by ${added(memory)} ms with headgate in memory and by ${added(redis)} ms with Redis`,
  );
});
