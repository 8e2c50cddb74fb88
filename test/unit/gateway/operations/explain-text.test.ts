/** The sentences that `explain` answers. */
import { describe, expect, test } from 'vitest';
import type {
  PathEvent,
  PolicyEvent,
  QuotaEvent,
  TraceEvent,
} from '../../../../src/gateway/core/trace.ts';
import { stepsOf } from '../../../../src/gateway/operations/explain-text.ts';

function says(event: TraceEvent, about: string, ...sentences: string[]) {
  expect(stepsOf(event)).toEqual(sentences.map((what) => ({ about, what })));
}

describe('addresses', () => {
  test('the proxy', () => {
    const proxy = { type: 'proxy', address: '10.0.0.1' } as const;
    says({ ...proxy, trustedBy: '10.0.0.0/8' }, 'proxy', '10.0.0.1 is a trusted proxy: 10.0.0.0/8');
    says(
      { ...proxy, trustedBy: undefined },
      'proxy',
      '10.0.0.1 is not in identity.trusted_proxies: its client addresses and users are ignored',
    );
  });
  test('the reported address', () => {
    const type = 'reported-address';
    says({ type, address: '1.2.3.4' }, 'address', 'the proxy reports 1.2.3.4');
    says({ type, address: undefined }, 'address', 'the proxy reports no address');
  });
  test.each([
    ['no-reported-address', undefined, 'the proxy must report the address that connected to it'],
    ['loopback', '127.0.0.1', '127.0.0.1 is on the machine of the proxy'],
    ['untrusted', '1.2.3.4', '1.2.3.4 is not a trusted proxy'],
  ] as const)('a forwarded list that is ignored: %s', (reason, reported, why) => {
    const header = 'forwarded';
    const event = { type: 'forwarded-list-ignored', header, reason, reported } as const;
    says(event, 'address', `forwarded is ignored: ${why}`);
  });
  test('an entry of the forwarded list', () => {
    const header = 'x-forwarded-for';
    const event = { type: 'forwarded-entry', header, entry: 'x', writtenBy: '10.0.0.2' } as const;
    says(
      { ...event, address: '1.2.3.4' },
      'address',
      'x-forwarded-for: the trusted proxy 10.0.0.2 reports 1.2.3.4',
    );
    says(
      { ...event, address: undefined },
      'address',
      'x-forwarded-for: "x" is not an address; entries before it are ignored',
    );
  });
  test.each([
    [{ status: 'absent' }, 'was not sent'],
    [{ status: 'set-by-proxy' }, 'is used: the proxy sets it'],
    [
      { status: 'set-by-network', address: '192.0.2.5', range: '192.0.2.0/24' },
      'is used: 192.0.2.5 is in 192.0.2.0/24',
    ],
    [{ status: 'not-one-address' }, 'is ignored: it is not one address'],
    [
      { status: 'not-allowed', peer: '1.2.3.4' },
      'is ignored: 1.2.3.4 connected to the proxy and is not in the networks that may set it',
    ],
    [
      { status: 'not-allowed', peer: undefined },
      'is ignored: the proxy does not report which address connected to it',
    ],
  ] as const)('an address header: %j', (result, what) => {
    says({ type: 'address-header', header: 'x-cdn', result }, 'address', `x-cdn ${what}`);
  });
  test('the client address', () => {
    const event = { type: 'client-address', proxy: '10.0.0.1' } as const;
    says({ ...event, address: '1.2.3.4' }, 'address', 'client address: 1.2.3.4');
    says({ ...event, address: undefined }, 'address', "client address: 10.0.0.1, the proxy's own");
  });
});

describe('identity', () => {
  test.each([
    ['used', false, 'api_key identifies the client'],
    [
      'used',
      true,
      'api_key identifies the client; the key counts as unlisted, so the address is charged too',
    ],
    ['outranked', false, 'api_key is not used: an earlier source identifies the client'],
    ['absent', false, 'no API key was sent, or it was not accepted'],
  ] as const)('a source: %s, %s', (result, isUnverified, what) => {
    says({ type: 'identity-source', source: 'api_key', result, isUnverified }, 'identity', what);
  });
  test('an ambiguous header', () => {
    says(
      { type: 'ambiguous-header', header: 'x-api-key' },
      'identity',
      'x-api-key can be read in several ways: the request is denied',
    );
  });
});

describe('the path', () => {
  const plain: PathEvent = {
    ...{ type: 'path', target: '/a', path: '/a', otherReadings: [] },
    ...{ around: [], malformed: false },
  };
  test('as sent', () => says(plain, 'path', '/a, as sent'));
  test('with other readings', () => {
    says(
      { ...plain, target: '//A', otherReadings: ['/', '//a'], around: ['/ab'] },
      'path',
      '//A is read as /a',
      'some servers read it as /',
      'some servers read it as //a',
      'it cannot be decoded, and servers may read it as /ab',
    );
  });
  test('malformed', () => {
    says(
      { ...plain, malformed: true },
      'path',
      'it has control characters or too many readings: the request is denied',
    );
  });
  test('unknown', () => {
    says(
      { type: 'path-unknown', policy: 'login' },
      'policy',
      'unknown path: the strictest policy applies, login',
    );
  });
});

describe('a policy', () => {
  const event: Omit<PolicyEvent, 'result'> = {
    ...{ type: 'policy', policy: 'login', mode: 'enforce', isModeOverridden: false },
  };
  const applies = { ...event, result: { status: 'most-specific' } } as const;
  test.each([
    ['most-specific', 'it is the most specific match'],
    ['named-by-proxy', 'the proxy names it for this route'],
    ['always', 'it applies to every request (always: true)'],
    ['other-reading', 'it matches another reading of the path'],
    ['nothing-matches', 'no other policy matches'],
  ] as const)('%s', (status, why) => {
    says({ ...event, result: { status } }, 'policy', `login applies: ${why}`);
  });
  test.each([
    ['enforce', true, 'applies, enforced by an override'],
    ['shadow', false, 'applies in shadow mode'],
    ['shadow', true, 'applies in shadow mode by an override'],
    ['off', false, 'would apply, but is off'],
    ['off', true, 'would apply, but is off by an override'],
  ] as const)('in mode %s, overridden: %s', (mode, isModeOverridden, what) => {
    says(
      { ...applies, mode, isModeOverridden },
      'policy',
      `login ${what}: it is the most specific match`,
    );
  });
  test('that does not apply', () => {
    const requires = [
      { part: 'path', value: '/login' },
      { part: 'method', value: 'POST' },
    ] as const;
    says(
      { ...event, result: { status: 'no-match', requires } },
      'policy',
      'login does not match: it requires path /login and method POST',
    );
    says(
      { ...event, result: { status: 'outranked', by: 'admin' } },
      'policy',
      'login matches, but admin takes precedence',
    );
    says(
      { ...event, result: { status: 'not-needed' } },
      'policy',
      'login does not apply: another policy matches',
    );
  });
});

describe('a limit', () => {
  test('what it counts', () => {
    says(
      { type: 'limit', label: 'login', description: '5 per day', per: 'ip', key: 'hg:v1:x' },
      'limit',
      'login: 5 per day, per ip; counted as hg:v1:x',
    );
  });
  const state = { limit: 5, remaining: 2, resetAfterMs: 9_000, retryAfterMs: 0 };
  const quota: QuotaEvent = { type: 'quota', label: 'a', cost: 1, isAdmitted: true, state };
  test.each([
    [quota, 'a: 2 of 5 remain after this request'],
    [
      { ...quota, cost: 500, reservedUnit: 'tokens' },
      'a: 2 of 5 remain after this request; reserved 500 tokens, not yet settled',
    ],
    [{ ...quota, isAdmitted: false }, 'a: 2 of 5 remain'],
    [
      { ...quota, isAdmitted: false, state: { ...state, retryAfterMs: 1_001 } },
      'a: 2 of 5 remain; next request allowed in 2 s',
    ],
    [
      { ...quota, isAdmitted: false, cost: 3, state: { ...state, retryAfterMs: 1_000 } },
      'a: 2 of 5 remain, 3 are needed; next request allowed in 1 s',
    ],
    [
      { ...quota, isAdmitted: false, state: undefined },
      'a: not checked, because another limit denies the request',
    ],
  ] satisfies [QuotaEvent, string][])('%j', (event, what) => {
    says(event, 'limit', what);
  });
});

describe('an MCP call', () => {
  test('what the trace says of it', () => {
    says({ type: 'mcp-call', what: 'tools/list' }, 'call', 'tools/list');
  });
  test('which one a policy is for', () => {
    const type = 'policy';
    const event = { type, policy: 'tool', mode: 'enforce', isModeOverridden: false } as const;
    const requires = [{ part: 'MCP call', value: 'tools/call search_*' }] as const;
    says(
      { ...event, result: { status: 'no-match', requires } },
      'policy',
      'tool does not match: it requires MCP call tools/call search_*',
    );
    says(
      { ...event, result: { status: 'strict' } },
      'policy',
      'tool applies: calls without headers count for policies of tools, too (none: strict)',
    );
  });
});

test('a preflight of a browser', () => {
  const event = {
    type: 'policy',
    policy: 'default',
    mode: 'enforce',
    isModeOverridden: false,
  } as const;
  says(
    { ...event, result: { status: 'preflight' } },
    'policy',
    'default applies: a preflight of a browser counts for it alone, and for policies with always: true',
  );
});
