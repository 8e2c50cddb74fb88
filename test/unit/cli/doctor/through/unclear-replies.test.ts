import { expect, test } from 'vitest';
import { found } from '../../../../../src/cli/doctor/catalog.ts';
import {
  denialFindings,
  explained,
  UNCLEAR,
} from '../../../../../src/cli/doctor/through/unclear-replies.ts';
import {
  type Answer,
  answering,
  type Metrics,
  metricsText,
  metricsWith,
  NO_OUTCOMES,
} from '../local-answers.ts';

const BEFORE = {
  ...{ digests: [], loadedMs: undefined, hasRefused: false, seenHeaders: new Set<string>() },
  outcomes: NO_OUTCOMES,
  ...{ checks: 10, denied: 5, untrusted: 1, unknownPlans: 0, refused: 3 },
};

type Rule = Parameters<typeof found>[0];
type Counted = 'nothing' | 'a check' | 'a denial' | 'a refusal' | 'a check without the secret';

const AFTER = {
  nothing: {},
  'a check': { checks: 11 },
  'a denial': { checks: 11, denied: 6 },
  'a refusal': { refused: 4 },
  'a check without the secret': { checks: 11, refused: 4 },
};

function told(rule: Rule, counted: Counted, message = 'status 403') {
  const finding = found(rule, 'http://shop/', message);
  return { finding, after: explained(finding, BEFORE, { ...BEFORE, ...AFTER[counted] }) };
}

const LOST = 'headgate denied this request, and its answer did not reach the client';
const SECRET = 'the gateway refused the check, because the secret of the proxy is missing or wrong';
const ALLOWED = 'the gateway allowed the request, so the application has answered';
const NOT_CHECKED = 'the gateway got no check, so the proxy or the application has answered';

test.each<[Rule, Counted, Rule, string]>([
  ['answered-403', 'a denial', 'denial-lost', LOST],
  ['answered-403', 'a refusal', 'answered-403', SECRET],
  ['answered-403', 'a check without the secret', 'answered-403', SECRET],
  ['answered-403', 'a check', 'answered-403', ALLOWED],
  ['answered-403', 'nothing', 'answered-403', NOT_CHECKED],
  ['answered-by-site', 'a denial', 'denial-lost', LOST],
  ['answered-by-site', 'a check', 'answered-by-site', ALLOWED],
  ['answered-by-site', 'nothing', 'answered-by-site', NOT_CHECKED],
  ['gateway-unreachable', 'a check', 'answered-503', 'the gateway runs and got the check'],
  ['gateway-unreachable', 'a denial', 'answered-503', 'the gateway runs and got the check'],
  ['gateway-unreachable', 'nothing', 'answered-503', 'the gateway runs and got no check'],
  ['gateway-unreachable', 'a refusal', 'answered-503', 'the gateway runs and got no check'],
])('%s, and the gateway counted %s: %s, %s', (rule, counted, as, why) => {
  const { after } = told(rule, counted);
  expect(after).toMatchObject({ rule: as, file: 'http://shop/', message: `status 403: ${why}` });
  expect(after.severity).toBe(found(as, '', '').severity);
});

test('without X-RateLimit headers, a check says that they are not shown', () => {
  expect(told('not-limited', 'a check').after).toEqual(
    found('headers-not-shown', 'http://shop/', 'status 403'),
  );
  for (const counted of ['nothing', 'a refusal'] as const) {
    const { finding, after } = told('not-limited', counted);
    expect(after).toBe(finding);
  }
});

test('the remedy is that of the reason', () => {
  const remedy = (rule: Rule, counted: Counted) => told(rule, counted).after.remedy;
  const own = (rule: Rule) => found(rule, '', '').remedy;
  expect(remedy('answered-403', 'a refusal')).toContain('Put the value of `HEADGATE_PROXY_SECRET`');
  expect(remedy('answered-by-site', 'a refusal')).toContain('Put the value of');
  expect(remedy('answered-403', 'nothing')).toContain('Try a path that the application answers');
  // A site that wants a login is no fault, so the advice stays.
  expect(remedy('answered-by-site', 'nothing')).toBe(own('answered-by-site'));
  expect(remedy('answered-403', 'a check')).toBe(own('answered-403'));
  expect(remedy('answered-403', 'a denial')).toBe(own('denial-lost'));
});

test('what the proxy itself says with X-RateLimit-Bypass stays', () => {
  for (const counted of ['nothing', 'a check'] as const) {
    const message = 'X-RateLimit-Bypass: timeout';
    const { finding, after } = told('gateway-unreachable', counted, message);
    expect(after).toBe(finding);
  }
});

test('nothing is added if the gateway has stopped', () => {
  const finding = found('answered-403', 'http://shop/', 'status 403');
  expect(explained(finding, BEFORE, undefined)).toBe(finding);
});

test('four answers are unclear', () => {
  expect([...UNCLEAR].sort()).toEqual([
    'answered-403',
    'answered-by-site',
    'gateway-unreachable',
    'not-limited',
  ]);
});

/** A proxy that changes the counters of a gateway, and answers. */
async function denials(count: (metrics: Metrics) => void, answer: Answer | undefined) {
  const metrics = metricsWith({ allowed: 3, denied: 2 });
  await using ops = await answering(() => ({ body: metricsText(metrics) }));
  await using proxy = await answering(() => {
    count(metrics);
    return answer;
  });
  const lines: string[] = [];
  const target = { url: new URL(`${proxy.url}/shop`) };
  for await (const each of denialFindings(target, ops.url))
    lines.push(`${each.file.replace(proxy.url, '')} ${each.rule}: ${each.message}`);
  expect(proxy.asked).toEqual(['GET /shop%0A']);
  return lines;
}

const denies = (metrics: Metrics) => {
  metrics.denied++;
};

test('a denial that got another answer on its way is lost', async () => {
  expect(await denials(denies, { status: 404 })).toEqual([
    `/shop%0A denial-lost: status 404: ${LOST}`,
  ]);
});

test('a denial is not lost if it arrives, if there is none, or without an answer', async () => {
  const headers = { 'x-ratelimit-decision-id': 'abc' };
  expect(await denials(denies, { status: 400, headers })).toEqual([]);
  expect(await denials(() => {}, { status: 400 })).toEqual([]);
  expect(await denials((metrics) => metrics.allowed++, { status: 400 })).toEqual([]);
  expect(await denials(denies, undefined)).toEqual([]);
});

test('without a gateway that tells, nothing is sent', async () => {
  await using proxy = await answering(() => ({ status: 404 }));
  await using ops = await answering(() => ({ status: 404 }));
  const findings = denialFindings({ url: new URL(proxy.url) }, ops.url);
  expect(await findings.next()).toEqual({ done: true, value: undefined });
  expect(proxy.asked).toEqual([]);
});
