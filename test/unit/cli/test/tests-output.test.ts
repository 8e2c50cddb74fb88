/** What `headgate test` prints for people and for programs, also for names that try to break out. */
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { TestRun } from '../../../../src/cli/policy-tests/result.ts';
import { asJson } from '../../../../src/cli/test/tests-json.ts';
import { asJunit } from '../../../../src/cli/test/tests-junit.ts';
import { asTap } from '../../../../src/cli/test/tests-tap.ts';
import { asText, coverageLines } from '../../../../src/cli/test/tests-text.ts';
import { POLICIES, runFiles, testFile } from '../../../support/policy-tests.ts';

const HOSTILE = [
  'a "quoted" & <tagged> name',
  ']]> --> &amp; </testcase>',
  'a # SKIP that is none',
  'back\\slash \\# and # again',
  '\u001b[31mred\u0007\u0000\u202e\ufeff',
  'line\nbreak\r\n...\n---\nnot ok 1',
  'half \ud800 pair \udc00 \ufffe \uffff',
  "'single' › é 日本",
  'GET: a : colon',
];

const result = (name: string, i: number) => ({
  name,
  place: { line: i + 1, column: 5 },
  result:
    i % 3 === 0 ? ('failed' as const) : i % 3 === 1 ? ('passed' as const) : ('skipped' as const),
  skip: i % 3 === 2 ? name : undefined,
  requests: 1,
  failures:
    i % 3 === 0
      ? [
          {
            place: { line: 9, column: 9 },
            step: name,
            mismatches: [{ what: name, expected: name, actual: name }],
            refusal: undefined,
            trace: [{ about: 'path' as const, what: name }],
            answer: { dialect: 'envoy', status: 429, headers: ['X-Name', name], body: name },
          },
        ]
      : [],
});

const RUN: TestRun = {
  files: HOSTILE.map((file) => ({ file, policies: file, tests: HOSTILE.map(result) })),
  coverage: [],
};

describe('JUnit XML', () => {
  const xml = asJunit(RUN).join('\n');

  test('is well-formed', () => {
    const open: string[] = [];
    const outside = xml.replaceAll(
      /<(\/?)(\w+)((?: \w+="[^"<]*")*)(\/?)>/g,
      (_, end, name, __, alone) => {
        if (end !== '') expect(open.pop()).toBe(name);
        else if (alone === '') open.push(name);
        return '';
      },
    );
    expect(open).toEqual([]);
    expect(outside.replace('<?xml version="1.0" encoding="UTF-8"?>', '')).not.toMatch(/[<>]/);
    expect(xml).not.toMatch(/&(?!(?:amp|lt|gt|quot|apos);)/);
    expect(xml.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cs}\ufffe\uffff]/u);
  });

  test('counts and names all tests', () => {
    expect(xml.match(/<testcase /g)).toHaveLength(81);
    expect(xml).toContain(
      '<testsuites name="headgate test" tests="81" failures="27" errors="0" skipped="27">',
    );
    expect(xml).toContain('name="a &quot;quoted&quot; &amp; &lt;tagged&gt; name"');
    expect(xml).toContain('name="\\u{1b}[31mred\\u{7}\\u{0}\\u{202e}\\u{feff}"');
  });
});

describe('TAP', () => {
  const lines = asTap(RUN);

  test('has a plan, and a line for each test', () => {
    expect(lines.slice(0, 2)).toEqual(['TAP version 13', '1..81']);
    const points = lines.filter((line) => /^(ok|not ok) \d+ - /.test(line));
    expect(points.map((line) => Number(/\d+/.exec(line)?.[0]))).toEqual(
      Array.from({ length: 81 }, (_, i) => i + 1),
    );
    for (const line of lines) expect(line).not.toMatch(/[\n\r]/);
  });

  test('skips what was skipped, and nothing else', () => {
    const skipped = lines.filter((line) => /^ok .*(?<!\\)# SKIP /.test(line));
    expect(skipped).toHaveLength(27);
    expect(lines.filter((line) => /^not ok .*(?<!\\)#/.test(line))).toEqual([]);
  });

  test('hides the colon in a list that Perl would take for that of a key', () => {
    const texts = lines.filter((line) => /^ +- "/.test(line) && !line.includes('- "message": '));
    expect(texts.length).toBeGreaterThan(100);
    for (const text of texts) expect(text).toMatch(/^ +- "(?!\S*\s*:\s)(?:\\.|[^"\\])*"$/);
    expect(texts).toContain(
      String.raw`        - "GET\x3a a : colon:9:9: a \"quoted\" & <tagged> name"`,
    );
  });

  test('has YAML blocks that can be read', () => {
    const blocks = lines.join('\n').match(/^ {2}---\n[\s\S]*?^ {2}\.\.\.$/gm) ?? [];
    expect(blocks).toHaveLength(27);
    for (const block of blocks) {
      const { failures } = parse(block.replaceAll(/^ {2}(---|\.\.\.)?/gm, ''));
      expect(failures).toMatchObject([{ severity: 'fail', at: { line: 9, column: 9 } }]);
    }
  });
});

test('JSON has all results, with escapes for what a terminal would obey', () => {
  const lines = asJson(RUN, false);
  expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  const document = JSON.parse(lines.join('\n'));
  expect(document).toMatchObject({ tests: 81, passed: 27, failed: 27, skipped: 27, mistakes: [] });
  expect(document.files[4].tests[4].name).toBe(HOSTILE[4]);
});

describe('for people', () => {
  const run = () =>
    runFiles({
      'policies.yaml': POLICIES,
      'a_test.yaml': testFile([
        '{ client: alice, send: POST /login, times: 3, expect: { verdict: allow, remaining: 1 } }',
        '{ override: { unblock: bob } }',
      ]),
    });

  test('a failure shows place, step, both sides, and the trace', async () => {
    const lines = asText(await run(), false).map((line) =>
      line.replace(/\S*a_test\.yaml/, 'a_test.yaml'),
    );
    expect(lines).toEqual([
      'a_test.yaml',
      '  FAIL  a test',
      '        a_test.yaml:8:9: POST /login by alice at 0s, request 2 of 3',
      '                     expected  actual',
      '          remaining  1         0',
      '          proxy     127.0.0.1 is a trusted proxy: loopback, 127.0.0.0/8',
      '          address   the proxy reports 203.0.113.9',
      '                    client address: 203.0.113.9',
      '          identity  no API key was sent, or it was not accepted',
      '                    no user was sent, or it was not accepted',
      '                    ip identifies the client',
      '          path      /login, as sent',
      '          policy    login applies: it is the most specific match',
      '                    pay does not match: it requires path /pay',
      '                    admin does not match: it requires path /admin and host a.example.com',
      '                    trial does not match: it requires path /trial',
      '                    default does not apply: another policy matches',
      expect.stringMatching(
        /^ {10}limit {5}login: 2 requests per minute, per client; counted as hg:v1:\{i\.[\w-]{22}\}:login:client\.60000$/,
      ),
      '                    login: 0 of 2 remain after this request',
      '          answer    200, sent to envoy',
      '                    Cache-Control: no-store',
      '                    X-RateLimit-Limit: 2',
      '                    X-RateLimit-Remaining: 0',
      expect.stringContaining('X-RateLimit-Reset: '),
      '                    RateLimit: "login";r=0;t=60',
      '                    RateLimit-Policy: "login";q=2;w=60',
      '        a_test.yaml:9:9: override at 0s',
      '          refused: no operator blocked this client; if it is over a limit, reset its counters (headgate clients reset)',
      '1 test: 0 passed, 1 failed, 0 skipped; 3 requests',
    ]);
  });

  test('coverage has a row for each limit', async () => {
    const { coverage } = await run();
    const lines = coverageLines(coverage).map((line) => line.replace(/\S*policies/, 'policies'));
    expect(lines).toEqual([
      '',
      'policies.yaml: 1 of 6 limits covered, 16 %',
      '                 limit                                                   matched  admitted  denied  in shadow',
      '  ok             login               2 requests per minute, per client   3        2         1       0',
      '  NEVER MATCHED  pay                 4 requests per 31 days, per client  0        0         0       0',
      '  NEVER MATCHED  admin               1 request per hour, per client      0        0         0       0',
      '  NEVER MATCHED  trial               1 request per hour, per client      0        0         0       0',
      '  NEVER MATCHED  default             1000 requests per hour, per client  0        0         0       0',
      '  NEVER MATCHED  default (plan pro)  2000 requests per hour, per client  0        0         0       0',
    ]);
  });
});
