/** What unit tests build requests and clients from. */
import { createSecretKey } from 'node:crypto';
import type { CheckContext } from '../../src/gateway/core/check-context.ts';
import type { CheckRequest } from '../../src/gateway/core/check-request.ts';
import type { Salts } from '../../src/gateway/core/identity/salts.ts';
import { NO_OVERRIDES } from '../../src/gateway/core/overrides.ts';

export const NOON_MS = Date.UTC(2026, 10, 21, 12);

export const SALTS = {
  kept: createSecretKey(Buffer.alloc(32, 5)),
  daily: {
    startMs: Date.UTC(2026, 10, 21),
    current: createSecretKey(Buffer.alloc(32, 1)),
    previous: createSecretKey(Buffer.alloc(32, 2)),
  },
  long: {
    startMs: Date.UTC(2026, 10, 1),
    current: createSecretKey(Buffer.alloc(32, 3)),
    previous: createSecretKey(Buffer.alloc(32, 4)),
  },
} satisfies Salts;

/** A check at noon without overrides. */
export const AT_NOON: CheckContext = {
  nowMs: NOON_MS,
  salts: SALTS,
  overrides: NO_OVERRIDES,
  trace: undefined,
};

interface Parts {
  readonly method?: string;
  readonly host?: string;
  readonly target?: string;
  readonly headers?: Record<string, string>;
  readonly proxy?: string;
  readonly peer?: string;
  readonly client?: string;
  readonly forwardedFor?: string;
  readonly forwarded?: string;
  readonly policy?: string;
  readonly requestId?: string;
  readonly missing?: readonly string[];
  readonly metadata?: CheckRequest['metadata'];
}

export function checkRequest(parts: Parts = {}): CheckRequest {
  return {
    method: parts.method ?? 'GET',
    host: parts.host ?? 'api.example.com',
    target: parts.target ?? '/',
    headers: parts.headers ?? {},
    addresses: {
      proxy: parts.proxy ?? '127.0.0.1',
      peer: parts.peer,
      client: parts.client,
      forwardedFor: parts.forwardedFor,
      forwarded: parts.forwarded,
      headers: ['x-real-ip', 'x-forwarded-for'],
    },
    policy: parts.policy,
    requestId: parts.requestId,
    metadata: parts.metadata,
    missing: parts.missing ?? [],
  };
}
