import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { html, jsonForScript } from '../../../../../src/cli/evidence/page/html.ts';
import { replayPage } from '../../../../../src/cli/evidence/page/replay-page.ts';
import { type SampleOptions, sampleReplay } from '../../../../support/replay-sample.ts';

function pageOf(options: SampleOptions): string {
  const { report, charts } = sampleReplay(options);
  return replayPage(report, charts);
}

const POLICIES = ['login', 'search', 'default'];
const WEEK_MINUTES = 7 * 1_440;

test('the same replay gives the same bytes', () => {
  const options = { policies: POLICIES, minutes: 600, hasDifference: true };
  expect(pageOf(options)).toBe(pageOf(options));
});

test('a page of three policies and a day has less than 500 KB', () => {
  expect(Buffer.byteLength(pageOf({ policies: POLICIES, minutes: 1_440 }))).toBeLessThan(500_000);
});

test('a page of 20 policies and a week has less than 3 MB', () => {
  const policies = Array.from({ length: 20 }, (_, i) => `policy-${i}`);
  const page = pageOf({ policies, minutes: WEEK_MINUTES, hasDifference: true });
  expect(Buffer.byteLength(page)).toBeLessThan(3_000_000);
});

test('the browser may run what is in the page, and nothing else', () => {
  const page = pageOf({ policies: POLICIES, minutes: 60 });
  const hashes = [...page.matchAll(/<(?:script|style)>([\s\S]*?)<\/(?:script|style)>/g)].map(
    ([, content = '']) => `'sha256-${createHash('sha256').update(content).digest('base64')}'`,
  );
  expect(hashes).toHaveLength(3);
  const [style, ...scripts] = hashes;
  const [, policy] = /Content-Security-Policy" content="([^"]+)"/.exec(page) ?? [];
  expect(policy?.replaceAll('&#39;', "'").split('; ')).toEqual([
    "default-src 'none'",
    `style-src ${style}`,
    `script-src ${scripts.join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
  ]);
  expect(page).not.toMatch(/<[^>]+ (style|on\w+|src|href)=/);
});

test('the license of uPlot is in the page', () => {
  const page = pageOf({ policies: POLICIES, minutes: 60 });
  expect(page).toContain('Copyright (c) 2022 Leon Sorokin');
  expect(page).toContain('THE SOFTWARE IS PROVIDED &quot;AS IS&quot;');
});

test('a policy in shadow mode would deny', () => {
  const { report, charts } = sampleReplay({ policies: ['login', 'search'], minutes: 600 });
  const policies = report.policies.map((policy) => ({ ...policy, mode: 'shadow' as const }));
  const page = replayPage({ ...report, policies }, charts);
  expect(page).toMatch(/login<\/bdi> <small>[\d,]+ requests, [\d,]+ would be denied/);
  expect(page).toMatch(/search<\/bdi> <small>[\d,]+ requests, none would be denied/);
});

test('in the plots, an enforced policy denies and a policy in shadow mode would deny', () => {
  const { report, charts } = sampleReplay({ policies: ['login', 'search'], minutes: 600 });
  const policies = report.policies.map((policy) =>
    policy.name === 'login' ? { ...policy, mode: 'shadow' as const } : policy,
  );
  const page = replayPage({ ...report, policies }, charts);
  const headOf = (name: string) => page.match(new RegExp(`<h3><bdi>${name}</bdi>.*`))?.[0];
  expect(headOf('login')).toContain('would be denied (shadow mode)');
  expect(headOf('search')).not.toContain('would be denied');
});

test('a replay without requests has a page', () => {
  const { report } = sampleReplay({ policies: [], minutes: 0 });
  const log = { ...report.log, from: null, to: null };
  const page = replayPage({ ...report, log, clients: [], notes: [] }, { policies: [], limits: [] });
  expect(page).toContain('<strong>0</strong> of 0 requests denied');
  expect(page.slice(page.indexOf('<body>'), page.indexOf('<footer>'))).not.toMatch(
    /NaN|undefined|Infinity/,
  );
});

describe('text in HTML', () => {
  test('is text, in content and in attributes', () => {
    const name = `"><img src=x onerror='a&b'>`;
    expect(html`<p title="${name}">${[name]}</p>`.markup).toBe(
      '<p title="&quot;&gt;&lt;img src=x onerror=&#39;a&amp;b&#39;&gt;">&quot;&gt;&lt;img src=x onerror=&#39;a&amp;b&#39;&gt;</p>',
    );
  });

  test('shows control characters and changes of direction as escapes', () => {
    expect(html`${'a\u0000\u202eb'}`.markup).toBe('a\\u{0}\\u{202e}b');
  });

  test('cannot end the script element that has the data', () => {
    const data = ['</script><!--', '\u2028\u2029'];
    const json = jsonForScript(data).markup;
    expect(json).not.toMatch(/[<\u2028\u2029]/);
    expect(JSON.parse(json)).toEqual(data);
  });
});
