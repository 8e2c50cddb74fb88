/** What a reader must know, and above all what is not said. */
import { expect, test } from 'vitest';
import { notesOn } from '../../../../../src/cli/evidence/replay/notes.ts';
import type { ReplayResult } from '../../../../../src/cli/evidence/replay/result.ts';
import { policySetFrom } from '../../../../support/policies.ts';

const KEY = 'keys: [{ id: a, sha256: "'.concat('ab'.repeat(32), '" }]');
const NO_FACTS = {
  ...{
    withoutAddress: 0,
    withHost: 0,
    withoutHost: 0,
    withoutTime: 0,
    answered429: 0,
    ofOptions: 0,
    withoutStatus: 0,
  },
  ...{ fromMs: 0, toMs: 0 },
};

interface Noted {
  readonly sources?: string;
  readonly identity?: string;
  readonly policy?: string;
  readonly facts?: Partial<ReplayResult['facts']>;
  readonly isUncertain?: boolean;
  readonly hosts?: readonly string[];
  readonly mapping?: readonly (readonly [target: string, field: string])[];
}

function notes(noted: Noted = {}): string[] {
  const { sources = 'ip', identity = '', policy = '', mapping = [], hosts = [] } = noted;
  const policies = policySetFrom(`
version: 1
identity: { sources: [${sources}]${identity} }
default: { limits: [1000/1h] }
policies: [{ name: login, match: { path: /login }, limits: [5/1min]${policy} }]
`);
  const result = {
    facts: { ...NO_FACTS, ...noted.facts },
    isUncertain: noted.isUncertain ?? false,
  } as ReplayResult;
  return notesOn(result, {
    policies,
    hostPolicies: new Set(hosts),
    mapping: mapping.map(([target, field]) => ({ target, field })),
  });
}

const ALWAYS =
  'A replay cannot show how clients react to a denial: they may retry, wait or give up.';

test('a log that has all says only what no log can', () => {
  expect(notes()).toEqual([ALWAYS]);
});

const byAddress = (names: string) =>
  `Clients were told apart by address, without ${names}: a gateway that sees more tells them apart better. If the log has the values, use --map.`;

test('identities that the log lacks are named, in the order of the file', () => {
  expect(notes({ sources: 'user, api_key, ip' })[0]).toBe(byAddress('user, api_key'));
  expect(notes({ sources: '{ header: x-tenant, from: proxy }, ip' })[0]).toBe(
    byAddress('x-tenant'),
  );
});

test('a mapped identity is not missed', () => {
  expect(notes({ sources: 'api_key, ip', mapping: [['api_key', 'key']] })).toEqual([ALWAYS]);
  expect(notes({ sources: 'user, ip', mapping: [['user', 'name']] })).toEqual([ALWAYS]);
  expect(notes({ sources: 'api_key, user, ip', mapping: [['user', 'name']] })[0]).toBe(
    byAddress('api_key'),
  );
});

test('limits of plans need the key of a client', () => {
  const gold = {
    sources: 'api_key, ip',
    identity: `, api_key: { header: x-api-key, ${KEY.replace(' }]', ', plan: gold }]')} }`,
    policy: ', plans: { gold: [50/1min] }',
  };
  const note = 'Limits of plans were not evaluated: the log does not say which key a client has.';
  expect(notes(gold)).toContain(note);
  expect(notes({ ...gold, mapping: [['api_key', 'key']] })).not.toContain(note);
  expect(notes({ sources: 'api_key, ip' })).not.toContain(note);
});

test('limits of plans need the key or the plan of a client', () => {
  const gold = { sources: 'user, ip', policy: ', plans: { gold: [50/1min] }' };
  const users = [['user', 'name']] as const;
  const plans = [...users, ['plan', 'plan']] as const;
  const identity = ', plan: { metadata: jwt, claim: plan }';
  const unknown =
    'Limits of plans were not evaluated: the log does not say which key a client has.';
  const unread =
    'The policy file has no identity.plan, so the plans of the log were not used: add it, as a gateway needs it too.';
  expect(notes({ ...gold, identity, mapping: users })).toEqual([unknown, ALWAYS]);
  expect(notes({ ...gold, identity, mapping: plans })).toEqual([ALWAYS]);
  expect(notes({ ...gold, mapping: plans })).toEqual([unread, ALWAYS]);
});

test('requests without a host matter only to policies that match by host', () => {
  const facts = { withHost: 1_000, withoutHost: 234 };
  expect(notes({ facts, hosts: ['shop', 'admin'] })).toEqual([
    '234 of 1,234 requests do not say which host was asked for. Policies that match by host (shop, admin) did not count them, and other policies did in their place. Log the host, or replay without these policies.',
    ALWAYS,
  ]);
  expect(notes({ facts })).toEqual([ALWAYS]);
  expect(notes({ facts: { withHost: 9 }, hosts: ['shop'] })).toEqual([ALWAYS]);
});

test('requests that were not decided, or were denied already, are counted', () => {
  expect(notes({ facts: { withoutTime: 1_000, answered429: 2_000 } })).toEqual([
    '1,000 requests were not decided: their start, which is their time less their duration, is before 1970 or after 9999.',
    '2,000 requests were answered 429 when they were logged. They were replayed like all others, as clients sent them.',
    ALWAYS,
  ]);
  expect(notes({ facts: { answered429: 1 } })).toHaveLength(2);
});

test('one policy in shadow mode is enough, and one that is off is none', () => {
  expect(notes({ policy: ', mode: shadow' })).toEqual([
    'Policies in shadow mode deny nobody: their denied requests are those that they would deny. --against and --fail-on count these, too.',
    ALWAYS,
  ]);
  expect(notes({ policy: ', mode: off' })).toEqual([ALWAYS]);
});

test('whole seconds and short windows', () => {
  const [first = '', ...others] = notes({ isUncertain: true });
  expect(first).toMatch(/^The log has whole seconds, and a limit has a window under 10 seconds/);
  expect(others).toEqual([ALWAYS]);
});

test('limits that charge afterwards say what the log knows of outcomes', () => {
  const of = (limits: string, withoutStatus = 0) => {
    const policies = policySetFrom(`version: 1
default: { limits: [1000/1h] }
policies: [{ name: login, match: { path: /login }, limits: [${limits}, 100/1h] }]
`);
    const result = { facts: { ...NO_FACTS, withoutStatus }, isUncertain: false } as ReplayResult;
    return notesOn(result, { policies, hostPolicies: new Set(), mapping: [] });
  };
  const byStatus =
    'login: requests were refunded by their status in the log, at once. A gateway counts a request until its answer has come, and refunds none that a proxy has answered.';
  const unknown =
    'login: a log does not say what a request took, nor the headers of its answer. So what these limits reserve was counted as if it were the cost.';
  expect(of('5/1min', 7)).not.toContainEqual(expect.stringContaining('login'));
  expect(of('{ rate: 5/1min, refund: { status: [204] } }')).toContain(byStatus);
  expect(of('{ rate: 5/1min, refund: { status: [204] } }', 7)).toContain(
    `${byStatus} 7 requests have no status: they count.`,
  );
  expect(of('{ rate: 5/1min, refund: { location: /account } }')).toContain(unknown);
  const tokens = '{ rate: 9/1min, algorithm: fixed-window, unit: tokens, reserve: 1, unknown: 9 }';
  expect(of(tokens)).toContain(unknown);
});

test('the headers of MCP calls that the log lacks are named, if policies match by them', () => {
  const mcp = (text: string) =>
    `}, { name: call, match: { path: /mcp, mcp: ${text} }, limits: [9/1h]`;
  const rest = ', so MCP calls counted as calls without headers (none) where these are needed';
  const without = mcp('{ method: none }').replace('call', 'rest');
  const policy = mcp('{ method: tools/call, name: a }') + without;
  expect(notes({ policy })[0]).toBe(
    `The log does not say mcp-method, mcp-name, mcp-protocol-version${rest}. If it has them, use --map header:NAME=FIELD for each.`,
  );
  expect(notes({ policy: mcp('{ method: none }') })[0]).toContain(
    `say mcp-method, mcp-protocol-version${rest}`,
  );
  const all = ['mcp-method', 'mcp-name', 'mcp-protocol-version'];
  const mapping = all.map((name) => [`header:${name}`, name] as const);
  expect(notes({ policy, mapping })).toEqual([ALWAYS]);
  expect(notes({ policy, mapping: mapping.slice(0, 2) })[0]).toContain(
    'does not say mcp-protocol-version, so',
  );
});

test('requests that may be preflights, unless the log says which are', () => {
  const facts = { ofOptions: 3 };
  const [note] = notes({ facts });
  expect(note).toMatch(/^3 requests have the method OPTIONS\. .*, use --map\.$/);
  const origin = ['header:origin', 'a'] as const;
  expect(notes({ facts, mapping: [origin] })).toEqual([note, ALWAYS]);
  const mapping = [origin, ['header:access-control-request-method', 'b']] as const;
  expect(notes({ facts, mapping })).toEqual([ALWAYS]);
});
