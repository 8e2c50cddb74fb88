import { expect, test } from 'vitest';
import { unseenAdvice } from '../../../../src/gateway/telemetry/unseen-header.ts';

const UNSEEN = { dialect: 'caddy', header: 'x-user', requests: 2_000 };

test('the advice on an unseen header names the command, if it can write the configuration', () => {
  expect(unseenAdvice(UNSEEN, true)).toBe(
    'none of 2000 requests through caddy had x-user: if clients send it, the proxy does not pass it on, and they share limits; pass the header on, as the configuration from headgate proxy-config caddy --policies FILE does; if no client sends it, remove it from the policy file',
  );
});

test('the advice on an unseen header names no command that does not know the proxy', () => {
  expect(unseenAdvice(UNSEEN, false)).toContain('; pass the header on; if no client sends it');
});

test('the advice on a header of MCP calls says what they count as', () => {
  expect(unseenAdvice({ ...UNSEEN, header: 'mcp-name' }, false)).toBe(
    'none of 2000 MCP calls through caddy had mcp-name: if clients send it, the proxy does not pass it on, and their calls count as ones without headers (method: none); pass the header on; nothing is wrong if all clients are older than MCP 2026-07-28',
  );
});
