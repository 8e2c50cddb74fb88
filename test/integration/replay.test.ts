/** `headgate replay`: what it answers about a log, in every form of the log, and how it ends. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import type { ReplayReport } from '../../src/cli/evidence/replay/report.ts';
import { type Circumstances, runCommand } from '../support/command.ts';
import { combinedLine, LOG_START_MS, logEntry, randomEntries } from '../support/log-entries.ts';
import { MAIN, NODE } from '../support/tested-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-replay-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string | Buffer): string {
  writeFileSync(join(folder, name), content);
  return name;
}

function replay(args: readonly string[], circumstances: Circumstances = {}) {
  return runCommand(['replay', ...args], { cwd: folder, ...circumstances });
}

async function report(args: readonly string[], circumstances?: Circumstances) {
  const { code, stdout, stderr } = await replay([...args, '-o', 'json'], circumstances);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as ReplayReport;
}

const five = file(
  'five.yaml',
  'version: 1\ndefault: { limits: [1000/1h] }\npolicies: [{ name: login, match: { path: /login }, limits: [5/5min] }]\n',
);
const three = file(
  'three.yaml',
  readFileSync(join(folder, five), 'utf8').replace('5/5min', '3/5min'),
);

/** Three clients log in 2, 4 and 7 times, a second apart; one of them also searches. */
const entries = [
  ...[2, 4, 7].flatMap((times, client) =>
    Array.from({ length: times }, (_, i) =>
      logEntry({
        address: `203.0.113.${client}`,
        target: '/login',
        method: 'POST',
        startMs: LOG_START_MS + i * 1_000,
        status: i < 5 ? 200 : 429,
      }),
    ),
  ),
  logEntry({ address: '203.0.113.0', target: '/search?q=1', startMs: LOG_START_MS + 5_000 }),
].sort((a, b) => a.startMs - b.startMs);
const text = entries.map(combinedLine).join('');
const log = file('access.log', text);

describe('a log that is easily misread', () => {
  const clients = Array.from({ length: 600 }, (_, i) => `203.0.113.${i % 100}`);
  const combined = clients.map((address, i) =>
    combinedLine(logEntry({ address, startMs: LOG_START_MS + i * 1_000 })),
  );
  const limits = file('limits.yaml', 'version: 1\ndefault: { limits: [5/1min] }\n');
  test.each([
    ['X-Forwarded-For', (line: string) => line.replace(' - - ', ' 10.0.0.5 - - ')],
    ['a list in quotes', (line: string) => line.replace(/^(\S+) /, '"198.51.100.7, $1" 10.0.0.5 ')],
  ])('has %s before the load balancer', async (name, written) => {
    const path = file(`${name}.log`, combined.map(written).join(''));
    const { requests, notes } = await report([path, '--policies', limits]);
    expect(requests).toMatchObject({ decided: 600, clients: 100, denied: 0 });
    expect(notes[0]).toContain('does not trust the load balancer');
  });
  test('has one client, while X-Forwarded-For has many', async () => {
    const lines = combined.map((line) => line.replace(/^(\S+)(.*)\n/, '10.0.0.5$2 "$1"\n'));
    const { requests, notes } = await report([file('main', lines.join('')), '--policies', limits]);
    expect(requests).toMatchObject({ clients: 1, denied: 550 });
    expect(notes[0]).toContain('come from 1 client, but X-Forwarded-For has 100 addresses');
  });
  test('has one stamp in the future, which is alike in gzip', async () => {
    const future = combinedLine(logEntry({ startMs: LOG_START_MS + 30 * 86_400_000 }));
    const bytes = combined.toSpliced(100, 0, future).join('');
    const args = ['--policies', limits, '--fail-on', 'late=0'];
    const plain = await report([file('future.log', bytes), ...args]);
    const gzip = await report([file('future.log.gz', gzipSync(bytes)), ...args]);
    expect(plain.lines).toMatchObject({ understood: 600, not_understood: 1, late: 0 });
    expect(plain.lines.first_not_understood[0]).toMatchObject({ line: 101 });
    expect({ ...gzip, log: 0 }).toEqual(
      JSON.parse(JSON.stringify({ ...plain, log: 0 }).replaceAll('future.log"', 'future.log.gz"')),
    );
    expect(gzip.log.to).toBe(plain.log.to);
  });
  test('has many late lines: a note, and --fail-on late', async () => {
    const later = Array.from({ length: 9_000 }, (_, i) =>
      combinedLine(logEntry({ startMs: LOG_START_MS + 900_000 + i })),
    );
    const path = file('late.log', [...later, ...combined].join(''));
    const { lines, notes } = await report([path, '--policies', limits]);
    expect(lines.late).toBe(600);
    expect(notes).toContain(
      '600 requests (6.3 %) came too late in the log to be put in order, and are left out: raise --horizon.',
    );
    const { code, stderr } = await replay([path, '--policies', limits, '--fail-on', 'late=599']);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'headgate: --fail-on late=599: it is 600\n',
    });
    const sorted = await report([path, '--policies', limits, '--horizon', '1h']);
    expect(sorted.lines.late).toBe(0);
  });
  test("is CloudFront's, compressed, in two files with other columns", async () => {
    const time = (i: number) => new Date(LOG_START_MS + i * 1_000).toISOString();
    const one = clients.map(
      (address, i) =>
        `${time(i).slice(0, 10)}\t${time(i).slice(11, 19)}\t${address}\tGET\t/\t-\t200\n`,
    );
    const two = clients.map(
      (address, i) => `${address}\tGET\t/\t${LOG_START_MS + 600_000 + i * 1_000}\n`,
    );
    const write = (name: string, fields: string, rows: readonly string[]) =>
      file(name, gzipSync(`#Version: 1.0\n#Fields: ${fields}\n${rows.join('')}`));
    const paths = [
      write('E1.gz', 'date time c-ip cs-method cs-uri-stem cs-uri-query sc-status', one),
      write('E2.gz', 'c-ip cs-method cs-uri-stem timestamp(ms)', two),
    ];
    const { lines, requests } = await report([...paths, '--policies', limits]);
    expect(lines).toMatchObject({ understood: 1_200, without_request: 4, not_understood: 0 });
    expect(requests).toMatchObject({ decided: 1_200, clients: 100, denied: 0 });
  });
});

describe('the answer', () => {
  test('says who would be denied, by policy and limit', async () => {
    const { lines, requests, policies, clients } = await report([log, '--policies', five]);
    expect(lines).toMatchObject({ read: 14, understood: 14, not_understood: 0, late: 0 });
    expect(requests).toMatchObject({
      ...{ decided: 14, denied: 2, clients: 3, denied_clients: 1, logged_429: 2 },
      reasons: { over_limit: 2, within_limits: 12 },
    });
    expect(policies[0]).toMatchObject({
      ...{ name: 'login', mode: 'enforce', requests: 13, clients: 3 },
      ...{ denied_requests: 2, denied_clients: 1 },
      first_denial: new Date(LOG_START_MS + 5_000).toISOString(),
      last_denial: new Date(LOG_START_MS + 6_000).toISOString(),
      busiest_minute: {
        at: new Date(LOG_START_MS).toISOString(),
        requests: 13,
        denied_requests: 2,
      },
      limits: [{ allows: '5 requests per 5 minutes', requests: 13, denied_requests: 2 }],
    });
    expect(clients).toEqual([{ client: 'client 1', requests: 7, denied_requests: 2 }]);
  });

  test('shows addresses only if asked to', async () => {
    const { stdout } = await replay([log, '--policies', three, '--against', five]);
    expect(stdout).toContain('client 1');
    expect(stdout).not.toContain('203.0.113');
    const { clients } = await report([log, '--policies', five, '--addresses']);
    expect(clients[0]?.client).toBe('203.0.113.2');
  });

  test('compares two files', async () => {
    const { difference } = await report([log, '--policies', three, '--against', five]);
    expect(difference).toMatchObject({
      ...{ newly_denied_requests: 3, newly_denied_clients: 2 },
      ...{ newly_allowed_requests: 0, newly_allowed_clients: 0 },
      newly_denied: [{ policy: 'login', requests: 3, clients: 2 }],
      clients_newly_denied: [
        { client: 'client 1', requests: 7, changed_requests: 2 },
        { client: 'client 2', requests: 4, changed_requests: 1 },
      ],
    });
    const same = await report([log, '--policies', five, '--against', five]);
    expect(same.difference).toMatchObject({ newly_denied: [], newly_allowed: [] });
  });

  test('says what cannot be known, in place of zero', async () => {
    const policies = file(
      'unknown.yaml',
      `version: 1
default: { limits: [1000/1h] }
policies:
  - { name: host, match: { host: api.example.com }, limits: [1/1h] }
  - { name: tenant, match: { path: /login }, limits: [{ rate: 1/1h, per: "header:x-tenant" }] }
`,
    );
    const { policies: reports } = await report([log, '--policies', policies]);
    expect(reports.map(({ name, denied_requests }) => [name, denied_requests])).toEqual([
      ['host', null],
      ['tenant', null],
      ['default', 0],
    ]);
    const { stdout } = await replay([log, '--policies', policies]);
    expect(stdout).toMatch(/tenant .* not evaluated: the log does not say the header x-tenant/);
  });
});

test('plain, gz, zst and standard input give the same answer, in any number of threads', async () => {
  const long = randomEntries(5_000, 300).map(combinedLine).join('');
  const plain = file('long.log', long);
  const options = ['--policies', three, '--against', five];
  const { log: _log, notes: _notes, ...answer } = await report([plain, ...options]);
  expect(answer.requests.denied).toBeGreaterThan(100);
  const others = await Promise.all([
    report([file('long.log.gz', gzipSync(long)), ...options]),
    report([file('long.log.zst', zstdCompressSync(long)), ...options]),
    report(['-', ...options], { input: long }),
    report([plain, ...options, '--threads', '1']),
    report([plain, ...options, '--threads', '3']),
  ]);
  for (const { log: _each, notes: _said, ...other } of others) expect(other).toEqual(answer);
});

test('a log shuffled within the horizon gives the answer of a sorted one', async () => {
  const sorted = randomEntries(2_000, 2_000);
  // No two share a second, so that sorting restores the order exactly.
  const distinct = sorted.filter(
    ({ startMs }, i) =>
      Math.floor(startMs / 1_000) !== Math.floor((sorted[i - 1]?.startMs ?? 0) / 1_000),
  );
  const shuffled = distinct.map((entry, i) => ({ entry, key: i + 1.5 * ((i * 3) % 10) }));
  shuffled.sort((a, b) => a.key - b.key);
  const [a, b] = [distinct, shuffled.map(({ entry }) => entry)].map((each, i) =>
    file(`order${i}.log`, each.map(combinedLine).join('')),
  ) as [string, string];
  const answers = await Promise.all(
    [a, b].map((each) => report([each, '--policies', three, '--horizon', '2min'])),
  );
  expect(answers[1]?.lines.out_of_order).toBeGreaterThan(100);
  expect(answers[1]?.lines.late).toBe(0);
  expect(answers[1]?.policies).toEqual(answers[0]?.policies);
});

test('a file in shadow mode fails a check in CI as an enforced one does', async () => {
  const shadow = file(
    'shadow.yaml',
    readFileSync(join(folder, five), 'utf8').replace('/login }', '/login }, mode: shadow'),
  );
  const failsOn = async (...args: string[]) => {
    const { code, stderr } = await replay([log, '--policies', shadow, ...args]);
    return [code, stderr];
  };
  expect(await failsOn('--fail-on', 'denied-requests=2', '--fail-on', 'denied-clients=1')).toEqual([
    0,
    '',
  ]);
  expect(await failsOn('--fail-on', 'denied-requests=1')).toEqual([
    1,
    'headgate: --fail-on denied-requests=1: it is 2\n',
  ]);
  expect(await failsOn('--fail-on', 'denied-clients=0')).toEqual([
    1,
    'headgate: --fail-on denied-clients=0: it is 1\n',
  ]);
  const none = file('none.yaml', 'version: 1\ndefault: { limits: [1000/1h] }\n');
  const against = ['--against', none, '--fail-on', 'newly-denied-requests=1'];
  expect(await failsOn(...against)).toEqual([
    1,
    'headgate: --fail-on newly-denied-requests=1: it is 2\n',
  ]);
  const { stdout } = await replay([log, '--policies', shadow]);
  expect(stdout).toContain('requests: 14 of 3 clients; 0 denied (0 %), of 0 clients\n');
  expect(stdout).toContain(
    'with policies in shadow mode: 2 would be denied (14 %), of 1 clients\n',
  );
});

describe('with a log of Caddy', () => {
  const line = (ts: number | string, duration: number | string) =>
    `{"ts":${ts},"duration":${duration},"request":{"remote_ip":"203.0.113.9","client_ip":"203.0.113.9","method":"GET","host":"a.example","uri":"/"},"status":200,"logger":"http.log.access","msg":"handled request"}\n`;
  const usual = [1, 2, 3, 4].map((i) => line(1_767_608_430 + i / 10, 0.01)).join('');

  test.each([
    ['1767608431', '1e13'],
    ['1767608431', '-1e13'],
    ['1767608431', '1e308'],
    ['1e22', '0.1'],
    ['1e308', '0.1'],
    ['1e308', '1e308'],
    ['0.001', '1e9'],
  ])('a stamp of %s and a duration of %s cost that line only', async (ts, duration) => {
    const policies = file(
      'two.yaml',
      'version: 1\ndefault: { limits: [2/5s, { rate: 3/day, zone: Europe/Zurich }, { rate: 100/3d }] }\n',
    );
    const absurd = file('absurd.log', usual + line(ts, duration));
    const options = ['--policies', policies, '--against', policies, '--html', 'absurd.html'];
    const { requests, lines } = await report([absurd, ...options]);
    expect(lines.read).toBe(5);
    expect(requests.decided - requests.denied).toBe(2);
    expect(requests.denied).toBeGreaterThanOrEqual(2);
    const page = readFileSync(join(folder, 'absurd.html'), 'utf8');
    expect(page).toContain(
      `<strong>${requests.denied}</strong> of ${requests.decided} requests denied`,
    );
  });
});

describe('it ends', () => {
  test.each([
    [
      [
        log,
        '--policies',
        'three.yaml',
        '--against',
        'five.yaml',
        '--fail-on',
        'newly-denied-clients=1',
      ],
      1,
      '--fail-on newly-denied-clients=1: it is 2',
    ],
    [
      [
        log,
        '--policies',
        'three.yaml',
        '--against',
        'five.yaml',
        '--fail-on',
        'newly-denied-clients=2',
      ],
      0,
      '',
    ],
    [[log, '--policies', 'five.yaml', '--fail-on', 'newly-denied-clients=0'], 2, 'add --against'],
    [[log, '--policies', 'five.yaml', '--fail-on', 'sorrow=0'], 2, 'names are denied-requests'],
    [[log, '--policies', 'absent.yaml'], 3, 'absent.yaml'],
    [['absent.log', '--policies', 'five.yaml'], 1, 'absent.log: does not exist'],
    [['.', '--policies', 'five.yaml'], 1, 'is a directory'],
    [
      [log, '--policies', 'five.yaml', '--format', 'nginx'],
      3,
      'did you mean "nginx-combined" or "nginx-forwarded" or "nginx-json"?',
    ],
    [
      [log, '--policies', 'five.yaml', '--format', 'sausage'],
      3,
      '--format: "sausage" is no format',
    ],
    [[log, '--policies', 'five.yaml', '--tz', 'Mars/Base'], 2, 'It must be a time zone'],
    [[log, '--policies', 'five.yaml', '--map', 'x=y'], 2, 'api_key=FIELD'],
    [[log, '--policies', 'five.yaml', '--horizon', 'soon'], 2, 'is not a duration'],
    [
      [log, '--policies', 'five.yaml', '--invalid', 'absent/x'],
      1,
      '--invalid absent/x: cannot be written: its folder does not exist',
    ],
    [
      [log, '--policies', 'five.yaml', '--html', 'absent/x'],
      1,
      '--html absent/x: cannot be written',
    ],
    [[], 2, "missing required argument 'logs'"],
  ])('%j with %i', async (args, code, message) => {
    const { code: found, stderr } = await replay(args);
    expect(stderr).toContain(message);
    expect(found).toBe(code);
  });

  test('with lines that are not understood told, kept and counted', async () => {
    const broken = file('broken.log', `${text}half a li\n\xff\xfe garbage\n203.0.113.9 - - [cut\n`);
    const { lines } = await report([broken, '--policies', five, '--invalid', 'invalid.log']);
    expect(lines).toMatchObject({ read: 17, understood: 14, not_understood: 3 });
    expect(lines.first_not_understood[0]).toMatchObject({
      ...{ source: 'broken.log', line: 15, text: 'half a li' },
    });
    const seen = ['--policies', five, '--html', 'broken.html'];
    const { stdout } = await replay([broken, ...seen]);
    for (const shown of [stdout, readFileSync(join(folder, 'broken.html'), 'utf8')]) {
      expect(shown).toContain('half a li');
      expect(shown).toContain('[address] - - [cut');
      expect(shown).not.toContain('203.0.113');
    }
    expect(readFileSync(join(folder, 'invalid.log'), 'utf8')).toBe(
      'half a li\n\xff\xfe garbage\n203.0.113.9 - - [cut\n',
    );
    const { code } = await replay([broken, '--policies', five, '--fail-on', 'not-understood=2']);
    expect(code).toBe(1);
  });

  test('with a gz that is cut short replayed as far as it goes, and told', async () => {
    const whole = gzipSync(randomEntries(5_000, 300).map(combinedLine).join(''));
    const cut = file('cut.log.gz', whole.subarray(0, whole.length / 2));
    const { lines, notes } = await report([cut, '--policies', five]);
    expect(lines.understood).toBeGreaterThan(1_000);
    expect(notes[0]).toContain('cut.log.gz: is cut short or damaged');
  });
});

test('a full disk costs the page, and not the answer', async () => {
  const { code, stdout, stderr } = await replay([log, '--policies', five, '--html', '/dev/full']);
  expect(stdout).toContain('requests: 14 of 3 clients');
  expect(stderr).toContain('--html /dev/full: cannot be written: the disk is full');
  expect(code).toBe(1);
});

test('Ctrl+C prints what is known so far', async () => {
  const child = spawn(NODE, [MAIN, 'replay', '-', '--policies', five], { cwd: folder });
  let printed = '';
  child.stdout.on('data', (bytes) => {
    printed += bytes;
  });
  const exited = once(child, 'exit');
  // More than a pipe holds, so all but the end is read when this is written. Then the log goes on, as with `tail -f`.
  await new Promise((resolve) => child.stdin.write(text.repeat(2_000), resolve));
  child.kill('SIGINT');
  expect(await exited).toEqual([130, null]);
  expect(printed).toMatch(/requests: [\d,]+ of 3 clients/);
  expect(printed).toContain('note: The reading was interrupted');
});
