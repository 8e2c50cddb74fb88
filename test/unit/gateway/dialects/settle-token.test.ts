/** How each proxy gets the token of an allowed request, and that a client's own header never arrives. */
import { describe, expect, test } from 'vitest';
import { type Decision, EXEMPT } from '../../../../src/gateway/core/counting/decision.ts';
import { envoyGrpc, HTTP_DIALECTS } from '../../../../src/gateway/dialects/index.ts';
import { readWrittenResponse } from '../../../support/grpc-client.ts';

const STYLE = { reset: 'epoch', retryAfterJitterSeconds: 0, body: 'json' } as const;
const TOKEN = 'a'.repeat(600);
const ALLOWED: Decision = { ...EXEMPT, settleToken: TOKEN };
const DENIED: Decision = { ...ALLOWED, verdict: 'deny', reason: 'over_limit' };

describe.each(HTTP_DIALECTS)('$name', ({ render }) => {
  test('gets the token in a header of an allow', () => {
    const { status, headers } = render(ALLOWED, STYLE, {});
    expect(status).toBe(200);
    const at = headers.indexOf('X-Headgate-Settle');
    expect([at >= 0 && at % 2, headers[at + 1]]).toEqual([0, TOKEN]);
  });

  test('gets none with a denial', () => {
    expect(JSON.stringify(render(DENIED, STYLE, {}))).not.toContain(TOKEN);
    expect(render(DENIED, STYLE, {}).headers.join()).not.toMatch(/settle/i);
  });

  test('gets none if there is none', () => {
    expect(render(EXEMPT, STYLE, {}).headers).toEqual(['Cache-Control', 'no-store']);
  });
});

describe('Envoy over gRPC', () => {
  const answerTo = (decision: Decision) =>
    readWrittenResponse(envoyGrpc.write(envoyGrpc.render(decision, STYLE, {})));

  test('gets the token for the application and for its access log, and none for the client', () => {
    const { status, ok_response: ok, dynamic_metadata: metadata } = answerTo(ALLOWED);
    expect(status.code).toBe(0);
    expect(ok?.headers).toEqual([
      expect.objectContaining({
        header: expect.objectContaining({ key: 'x-headgate-settle', value: TOKEN }),
        append_action: 2,
      }),
    ]);
    expect(metadata?.fields).toMatchObject({ settle: { stringValue: TOKEN } });
    expect(ok?.headers_to_remove ?? []).toEqual([]);
    expect(ok?.response_headers_to_add ?? []).toEqual([]);
  });

  test('removes the header of a client if there is no token', () => {
    const { ok_response: ok, dynamic_metadata: metadata } = answerTo(EXEMPT);
    expect(ok?.headers_to_remove).toEqual(['x-headgate-settle']);
    expect(ok?.headers ?? []).toEqual([]);
    expect(metadata ?? undefined).toBeUndefined();
  });

  test('gets none with a denial', () => {
    const written = envoyGrpc.write(envoyGrpc.render(DENIED, STYLE, {}));
    expect(written).not.toContain(TOKEN);
    expect(written).not.toContain('settle');
  });
});
