/** From a log on disk to its report: in how many threads, and what is noted of the log. */
import { expect, test } from 'vitest';
import { openLog } from '../../../../../src/cli/evidence/reading/open-log.ts';
import { type ReplayRun, runReplay } from '../../../../../src/cli/evidence/replay/run.ts';
import { validatePolicyFile } from '../../../../../src/gateway/config/policy-file/validate.ts';
import { policyFileContext } from '../../../../support/policies.ts';
import { temporaryFile } from '../../../../support/temporary.ts';

const line = (second: number, address = '203.0.113.9') =>
  `${address} - - [22/Nov/2026:11:30:${String(second).padStart(2, '0')} +0000] "GET /login HTTP/1.1" 200 5 "-" "x"\n`;

interface Given extends Partial<Omit<ReplayRun, 'log' | 'policies' | 'against'>> {
  readonly limits?: string;
  readonly identity?: string;
  readonly against?: { readonly limits?: string; readonly identity?: string };
}

const policiesOf = ({
  limits = '[2/1min]',
  identity = 'sources: [ip]',
}: Pick<Given, 'limits' | 'identity'>) => {
  const text = `{ version: 1, identity: { ${identity} }, default: { limits: ${limits} } }`;
  const { file } = validatePolicyFile(text, 'policies.yaml', policyFileContext());
  return { file, ranges: { cloudflare: [] } };
};

async function run(lines: readonly string[], given: Given = {}) {
  using stack = new DisposableStack();
  const { limits, identity, against, ...options } = given;
  const parsing = { zone: 'UTC', timeIs: undefined, fields: [], ...given.parsing };
  const path = temporaryFile(stack, lines.join(''), 'access.log');
  const log = await openLog({ paths: [path], format: 'nginx-combined', ...parsing });
  const { report, charts } = await runReplay({
    ...{ log, mapping: [], horizonMs: 60_000, threads: 1, onMisread: undefined },
    ...{ showsAddresses: false, measuresPeaks: true, signal: new AbortController().signal },
    ...options,
    parsing,
    policies: policiesOf({
      ...(limits !== undefined && { limits }),
      ...(identity !== undefined && { identity }),
    }),
    against: against && policiesOf(against),
  });
  return { report, charts };
}

const LOG = [line(0), line(1), line(2), line(3, '198.51.100.7'), 'nonsense\n'];
const END =
  'The log has the end of each request, and not how long it took: requests are decided a little late.';
const threadNotes = (notes: readonly string[]) =>
  notes.filter((note) => note.startsWith('Decided in one thread'));

test('the report has the numbers of the log', async () => {
  const { report, charts } = await run(LOG);
  expect(report.lines).toMatchObject({ read: 5, understood: 4, not_understood: 1, late: 0 });
  expect(report.lines.first_not_understood).toMatchObject([{ line: 5, text: 'nonsense' }]);
  expect(report.requests).toMatchObject({ decided: 4, denied: 1, clients: 2, denied_clients: 1 });
  expect(report.clients).toEqual([{ client: 'client 1', requests: 3, denied_requests: 1 }]);
  expect(report).not.toHaveProperty('difference');
  expect(charts.limits.map(({ peaks }) => peaks)).toEqual([
    [
      [1, 1],
      [3, 1],
    ],
  ]);
  expect(report.notes).toContain(END);
  expect(threadNotes(report.notes)).toEqual([]);
});

test('addresses and peaks only if they are wanted', async () => {
  const { report, charts } = await run(LOG, { showsAddresses: true, measuresPeaks: false });
  expect(report.clients.map(({ client }) => client)).toEqual(['203.0.113.9']);
  expect(charts.limits).toEqual([]);
});

test('lines that are not understood are handed on, if somebody wants them', async () => {
  const misread: string[] = [];
  await run(LOG, { onMisread: async (text) => void misread.push(text) });
  expect(misread.join('')).toBe('nonsense\n');
});

test('two files are compared', async () => {
  const { report } = await run(LOG, { against: { limits: '[3/1min]' } });
  expect(report.difference).toMatchObject({ newly_denied_requests: 1, newly_allowed_requests: 0 });
});

test('--time-is start says that no end is meant', async () => {
  const { report } = await run(LOG, {
    parsing: { zone: 'UTC', timeIs: 'start', fields: [] } as never,
  });
  expect(report.notes).not.toContain(END);
});

test('an interrupted replay says so first', async () => {
  const controller = new AbortController();
  controller.abort();
  const { report } = await run(LOG, { signal: controller.signal });
  const interrupted = report.notes.findIndex((note) => /interrupt/i.test(note));
  expect(interrupted).toBeGreaterThanOrEqual(0);
  expect((await run(LOG)).report.notes.some((note) => /interrupt/i.test(note))).toBe(false);
});

test.each<[string, Given]>([
  [
    '--map tells clients apart by more than their address',
    { mapping: [{ target: 'user', field: 'name' }], identity: 'sources: [user, ip]' },
  ],
  ['a limit counts all clients together', { limits: '[{ rate: 2/1min, per: global }]' }],
  [
    'a limit counts all clients together',
    { against: { limits: '[2/1min, { rate: 2/1h, per: global }]' } },
  ],
  [
    'the two files tell clients apart in different ways (identity)',
    { against: { identity: 'sources: [api_key, ip]' } },
  ],
])('decided in one thread, because %s', async (why, given) => {
  const note = `Decided in one thread: ${why}.`;
  for (const threads of [2, undefined])
    expect(threadNotes((await run(LOG, { ...given, threads })).report.notes)).toEqual([note]);
  // With one thread, nobody wanted more.
  expect(threadNotes((await run(LOG, { ...given, threads: 1 })).report.notes)).toEqual([]);
});

test('two threads decide as one does', async () => {
  const lines = Array.from({ length: 60 }, (_, i) => line(i, `203.0.113.${i % 7}`));
  const one = await run(lines, { against: { limits: '[3/1min]' } });
  const two = await run(lines, { against: { limits: '[3/1min]' }, threads: 2 });
  const withoutPath = ({ report, charts }: typeof one) => ({ ...report, log: undefined, charts });
  expect(withoutPath(two)).toEqual(withoutPath(one));
  expect(one.report.requests).toMatchObject({ decided: 60, clients: 7, denied: 46 });
});
