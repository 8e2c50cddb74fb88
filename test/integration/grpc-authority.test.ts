/** Callers whose `:authority` is no host name. Envoy sends the name of its cluster there, and Istio names them like this. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials } from '@grpc/grpc-js';
import { afterAll, expect, test } from 'vitest';
import { createAuthority } from '../support/certificates.ts';
import { startGateway } from '../support/gateway.ts';
import { connectGrpc, envoyCheckRequest, type GrpcClient } from '../support/grpc-client.ts';

const ISTIO = 'outbound|8081||headgate.default.svc.cluster.local';

const scratch = mkdtempSync(join(tmpdir(), 'headgate-authority-'));
afterAll(() => rmSync(scratch, { recursive: true }));

/** Further fields push `:authority` out of the table of known fields, so that the client writes it again. */
async function codesOf(client: GrpcClient): Promise<number[]> {
  const codes: number[] = [];
  for (let i = 0; i < 60; i++) {
    const sent = { 'x-trace': `${i}-${'t'.repeat(100)}` };
    const replies = [client.check(envoyCheckRequest(), sent), client.check(envoyCheckRequest())];
    for (const { code } of await Promise.all(replies)) codes.push(code);
  }
  return codes;
}

test.each([
  ['no host name', ISTIO],
  ['a host name', 'headgate.default.svc.cluster.local'],
])('%s is answered', async (_, authority) => {
  await using gateway = await startGateway({ HEADGATE_GRPC_PORT: '0' });
  using client = connectGrpc(gateway.grpcPort, { 'grpc.default_authority': authority });
  expect(new Set(await codesOf(client))).toEqual(new Set([0]));
});

test('so it is over TLS', async () => {
  const issuer = createAuthority(scratch);
  const { certificate, key } = issuer.issue('gateway');
  await using gateway = await startGateway({
    HEADGATE_GRPC_PORT: '0',
    HEADGATE_GRPC_TLS_CERT: certificate,
    HEADGATE_GRPC_TLS_KEY: key,
  });
  using client = connectGrpc(
    gateway.grpcPort,
    { 'grpc.default_authority': ISTIO, 'grpc.ssl_target_name_override': 'localhost' },
    credentials.createSsl(readFileSync(issuer.caFile)),
  );
  expect(new Set(await codesOf(client))).toEqual(new Set([0]));
});
