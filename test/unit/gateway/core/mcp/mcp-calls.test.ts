import { describe, expect, test } from 'vitest';
import { compileMcpCalls, type McpMatch } from '../../../../../src/gateway/core/mcp/mcp-calls.ts';

/** The value of each policy is its text. */
function callsOf(...matches: readonly McpMatch[]) {
  const calls = compileMcpCalls(
    matches.map((mcp) => ({ mcp, value: [mcp.method, mcp.name].filter(Boolean).join(' ') })),
  );
  return (method?: string, name?: string) =>
    calls(
      {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(name === undefined ? {} : { 'mcp-name': name }),
      },
      false,
    );
}

describe('the closest policy decides', () => {
  const calls = callsOf(
    { method: 'none' },
    { method: 'tools/call', name: 'search' },
    { method: 'tools/call', name: 'search_*' },
    { method: 'tools/call', name: 'search_web_*' },
    { method: 'tools/call' },
    { method: 'tools/*' },
    { method: 'resources/read', name: 'file:*' },
    { method: 'notifications/*' },
  );
  test.each([
    ['tools/call', 'search', ['tools/call search']],
    ['tools/call', 'search_', ['tools/call search_*']],
    ['tools/call', 'search_web_all', ['tools/call search_web_*']],
    ['tools/call', 'Search', ['tools/call']],
    ['tools/call', undefined, ['none']],
    ['tools/call', '', ['none']],
    ['tools/list', undefined, ['tools/*']],
    ['tools/list', 'a, b', ['tools/*']],
    ['notifications/progress', undefined, ['notifications/*']],
    ['resources/read', 'file:///a', ['resources/read file:*']],
    ['resources/read', 'https://a', []],
    ['resources/read', undefined, ['none']],
    ['initialize', undefined, []],
    [undefined, 'search', ['none']],
    ['tools/call', 'a, b', undefined],
    ['a, b', undefined, undefined],
  ])('%s %s', (method, name, expected) => {
    expect(calls(method, name)).toEqual(expected);
  });
});

test('a method without a policy for its other names leaves them to a beginning', () => {
  const calls = callsOf({ method: 'tools/call', name: 'search' }, { method: 'tools/*' });
  expect(calls('tools/call', 'other')).toEqual(['tools/*']);
});

test('strict calls without headers count for every policy of a tool', () => {
  const calls = callsOf(
    { method: 'none', isStrict: true },
    { method: 'tools/call', name: 'a' },
    { method: 'to*', name: 'b' },
    { method: 'tools/list' },
    { method: 'notifications/*' },
  );
  expect(calls()).toEqual(['none', 'tools/call a', 'to* b']);
  expect(calls('tools/call')).toEqual(['none', 'tools/call a', 'to* b']);
  expect(calls('tools/call', '')).toEqual(['none', 'tools/call a', 'to* b']);
});
