/** Files that nearly deserve advice on MCP calls. The fixture mcp-advice deserves it. */
import { describe, expect, test } from 'vitest';
import { diagnosticsIn } from './diagnostics-in.ts';

const policy = (name: string, match: string, rest = 'limits: [20/1min]') =>
  `{ name: ${name}, match: { ${match} }, ${rest} }`;
const call = (name: string, mcp: string, rest?: string) =>
  policy(name, `path: /mcp, mcp: { ${mcp} }`, rest);
const rulesIn = (policies: readonly string[], identity = 'sources: [ip]') =>
  diagnosticsIn(
    `{ version: 1, identity: { ${identity} }, default: { limits: [1000/1h] }, policies: [${policies.join(', ')}] }`,
  ).map(({ rule, path }) => `${rule} ${path}`);

const LAX = ['mcp-none-lax policies[1].limits'];
const TOOL = 'method: tools/call, name: x';

describe('a policy for calls without headers', () => {
  test.each([
    ['as much as the tool', '[20/1min]', '[20/1min]', []],
    ['less in the long run', '[20/1min]', '[30/1min, 100/1h]', []],
    ['more in the long run', '[20/1min, 100/1h]', '[20/1min]', LAX],
    ['more than one limit of a tool', '[20/1min]', '[21/1min]', LAX],
    ['a share of all clients alone', '[20/1min]', '[{ rate: 5/1min, per: global }]', LAX],
    ['as much for an address', '[20/1min]', '[{ rate: 20/1min, per: ip }]', []],
  ])('that allows %s', (_, tool, bare, expected) => {
    const policies = [call('tool', TOOL, `limits: ${tool}`)];
    const limits = `limits: ${bare}`;
    expect(rulesIn([...policies, call('bare', 'method: none', limits)])).toEqual(expected);
    expect(rulesIn([...policies, call('bare', 'none: strict', limits)])).toEqual([]);
  });
  test.each([
    ['the tool has a cost', 'limits: [20/1min], cost: 5', 'limits: [20/1min]', LAX],
    ['both have it', 'limits: [20/1min], cost: 5', 'limits: [20/1min], cost: 5', []],
    ['the tool denies nothing', 'limits: [1/1min], mode: shadow', 'limits: [20/1min]', []],
    ['it denies nothing', 'limits: [20/1min]', 'limits: [1/1min], mode: shadow', LAX],
  ])('if %s', (_, tool, bare, expected) => {
    expect(rulesIn([call('tool', TOOL, tool), call('bare', 'method: none', bare)])).toEqual(
      expected,
    );
  });
  test('is not compared with policies for other methods, paths and hosts', () => {
    const strict = 'limits: [1/1min]';
    const bare = call('bare', 'method: none');
    expect(rulesIn([call('ping', 'method: [ping, tools/list]', strict), bare])).toEqual([]);
    const other = (where: string) => [
      policy('tool', `${where}, mcp: { ${TOOL} }`, strict),
      policy('other', `${where}, mcp: { method: none }`, strict),
      bare,
    ];
    expect(rulesIn(other('path: /other'))).toEqual([]);
    expect(rulesIn(other('host: a.example, path: /mcp'))).toEqual([]);
    expect(rulesIn([call('any', 'method: "*"', strict), bare])).toEqual(LAX);
  });
});

test.each([
  'tools/call',
  'tools/*',
  'tool*',
  '"*"',
  'none',
  'initialize',
  'tasks/update',
  'notifications/roots/*',
])('clients of MCP send %s', (method) => {
  const rest = method === 'none' ? [] : [call('bare', 'method: none')];
  expect(rulesIn([call('a', `method: ${method}`), ...rest])).toEqual([]);
});
test.each(['sampling/createMessage', 'tools/called', 'toolsx*'])(
  'clients of MCP never send %s',
  (method) => {
    expect(rulesIn([call('a', `method: ${method}`), call('bare', 'method: none')])).toEqual([
      'mcp-method-unknown policies[0].match.mcp.method',
    ]);
  },
);

test('a proxy is believed if both headers are verified', () => {
  const verified = (names: string) =>
    rulesIn([call('bare', 'method: none')], `sources: [ip], verified_headers: [${names}]`);
  expect(verified('mcp-method, mcp-name')).toEqual([]);
  expect(verified('mcp-method')).toEqual(['mcp-half-verified identity.verified_headers[0]']);
});

describe('policies with MCP calls match', () => {
  test.each([
    [
      'names that headers must encode',
      [call('a', 'method: tools/call, name: ["a, b", " c", bürö, "=?base64?x?="]')],
    ],
    [
      'names and their beginnings',
      [
        call('a', 'method: tools/call, name: a*'),
        call('b', 'method: tools/call, name: [a, ab*]'),
        call('c', 'method: tools/call'),
      ],
    ],
    ['every method beside one', [call('a', 'method: "*"'), call('b', 'method: tools/call')]],
    [
      'other requests of the path',
      [
        call('a', 'method: tools/call'),
        policy('posts', 'path: /mcp, method: POST'),
        policy('gets', 'path: /mcp, method: [GET, DELETE]'),
      ],
    ],
    ['other requests beside every call', [call('a', 'method: "*"'), policy('rest', 'path: /mcp')]],
    [
      'a path of all segments',
      [call('a', 'method: tools/call'), policy('rest', 'path: "/*", method: POST')],
    ],
  ])('%s', (_, policies) =>
    expect(rulesIn([...policies, call('bare', 'method: none')])).toEqual([]),
  );

  test('and leave nothing for a policy for POST if they are for every call', () => {
    const every = [call('a', 'method: "*"'), call('bare', 'method: none')];
    expect(rulesIn([...every, policy('posts', 'path: /mcp, method: POST')])).toEqual([
      'policy-never-matches policies[2].match',
    ]);
  });
  test('and say once for a path what is wrong with it', () => {
    const path = (where: string) => [
      policy('a', `${where}, mcp: { method: tools/call, name: [x, y, z] }`),
      policy('b', `${where}, mcp: { none: strict }`),
    ];
    expect(rulesIn(path('path: /mcp.php'))).toEqual([
      'path-info policies[0].match.path',
      'path-info policies[1].match.path',
    ]);
    expect(rulesIn(path('path: /'))).toEqual([]);
  });
});
