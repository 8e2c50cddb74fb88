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

const ALL = 'all CPU us/request';

test.each([
  ['decision-cost.ts', 'HTTP: headgate, memory', ALL, '| 19.9 us |'],
  ['decision-cost.ts', 'HTTP: headgate, Redis', ALL, '| 25.5 us |'],
  ['decision-cost.ts', 'HTTP: headgate, one denied', ALL, '| 21.0 us,'],
  ['decision-cost.ts', 'gRPC: headgate, Redis', ALL, '| 15.6 us |'],
  ['growth.ts', 'headgate, three limits', 'Redis CPU, times less', '| 2.28 times |'],
  ['growth.ts', 'headgate, three limits', 'CPU, times less', '| 1.15 times |'],
  ['growth.ts', 'headgate, 10,000 policies', 'CPU, times less', '| 1.16 times |'],
  ['growth.ts', 'headgate, Redis, 1,000,000 keys', 'CPU, times less', '| 1.12 times |'],
  ['growth.ts', 'headgate, Redis, 1,000,000 keys', 'Redis CPU, times less', '| 1.33 times |'],
  ['start-and-memory.ts', 'HTTP: headgate, Redis', 'idle MiB', '| 102 MiB with Redis'],
  ['start-and-memory.ts', 'HTTP: headgate, Redis', 'RSS MiB', '| 353 MiB;'],
  ['keys.ts', '1,000,000', 'server bytes/key', '| 347.4 bytes in Redis,'],
  ['keys.ts', '1,000,000', 'gateway, bytes/key', 'and 250 in each process of a gateway'],
  ['memory.ts', 'of a settlement', 'server bytes/mark', '| 149.9 bytes beside its counter'],
  ['memory.ts', 'of a settlement', 'bytes/mark', '104 by `MEMORY USAGE`'],
  ['memory.ts', 'of a reset', 'server bytes/mark', '| 181.2 bytes for each counter'],
  ['through-proxies.ts', 'NGINX: empty server', 'p50, ms', 'from 0.26 ms'],
  ['through-proxies.ts', 'NGINX: headgate, Redis', 'p50, ms', '0.74 ms with Redis'],
  ['through-proxies.ts', 'HTTP: headgate, Redis', 'p50, ms', 'and 0.55 ms'],
  ['through-proxies.ts', 'NGINX: headgate, Redis', 'proxy CPU us/request', '43 us'],
  ['through-proxies.ts', 'NGINX: headgate, Redis', 'p99, ms', '52.56 ms with Redis'],
  ['through-proxies.ts', 'NGINX: headgate, memory', 'p99, ms', '13.84 ms in memory'],
])('%s: %s, %s', (file, row, column, shown) => {
  expect(shown).toContain(String(figure(file, row, column)));
  expect(PAGE).toContain(shown);
});

const read = (page: string) => readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');

test('docs/comparison.md has the figures of the benchmark', () => {
  const [peer, own] = ['envoyproxy/ratelimit, Redis', 'headgate, rate limit service'].map((name) =>
    figure('decision-cost.ts', `gRPC: ${name}`, ALL),
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
