/** Real Envoys that report finished and aborted requests to the gRPC port, with the file that we ship. */
import { once } from 'node:events';
import { createServer as createHttpServer, get, type ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { EXEMPT } from '../../src/gateway/core/counting/decision.ts';
import { envoyGrpc } from '../../src/gateway/dialects/index.ts';
import { messageField, textField } from '../../src/gateway/protobuf/writer.ts';
import { createGrpcServer } from '../../src/gateway/server/grpc/grpc-server.ts';
import { accessLogService } from '../../src/gateway/settlement/access-log.ts';
import { waitUntil } from '../support/eventually.ts';
import { call } from '../support/http.ts';
import { listenLocally } from '../support/local-server.ts';
import { ENVOYS, type RunningProxy, startEnvoyGrpc } from '../support/proxies.ts';

const programs = inject('programs');
const SECRET = 'a-secret-of-sixteen';
const STYLE = { reset: 'epoch', retryAfterJitterSeconds: 0, body: 'json' } as const;
const HCM = 'use_remote_address: true\n';
const ROUTER = '                  - name: envoy.filters.http.router\n';

/** For an answer in JSON, and for the last event of a stream. */
const SELECTORS = '[{ key: usage }, { key: total_tokens }]';
const ON_PRESENT = '{ metadata_namespace: headgate, key: tokens, type: NUMBER }';
const UNITS = `
                  - name: envoy.filters.http.json_to_metadata
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.json_to_metadata.v3.JsonToMetadata
                      response_rules:
                        rules: [{ selectors: ${SELECTORS}, on_present: ${ON_PRESENT} }]
`.slice(1);
const ACCESS_LOG = `
                access_log:
                  - name: envoy.access_loggers.http_grpc
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig
                      common_config:
                        log_name: headgate
                        transport_api_version: V3
                        buffer_flush_interval: 0.1s
                        grpc_service:
                          envoy_grpc: { cluster_name: headgate }
                          initial_metadata: [{ key: x-headgate-secret, value: "${SECRET}" }]
                      additional_response_headers_to_log: [x-login, location]
`.slice(1);

interface Settled {
  readonly token: string;
  readonly status?: number;
  readonly headers?: object;
  readonly units?: object;
}

function answerCompletion(url: string, response: ServerResponse): void {
  if (url === '/json') {
    response.writeHead(200, { 'Content-Type': 'application/json', 'X-Login': 'ok' });
    response.end('{"usage":{"total_tokens":42}}');
  } else if (url === '/redirect') {
    response.writeHead(302, { Location: '/home' }).end();
  } else if (url === '/broken') {
    response.destroy();
  } else {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Login': 'ok' });
    response.write('data: {"choices":[]}\n\n');
  }
}

/** The check's answer with a settle token in its metadata. */
function tokenField(token: string): string {
  const value = messageField(2, textField(3, token));
  return messageField(4, messageField(1, textField(1, 'settle') + value));
}

describe.each(ENVOYS)('%s', (program) => {
  describe.skipIf(programs[program] === undefined)('reports', () => {
    const started = new AsyncDisposableStack();
    const settled: Settled[] = [];
    let tokens = 0;
    let envoy: RunningProxy;

    beforeAll(async () => {
      const server = createGrpcServer({
        dialect: {
          ...envoyGrpc,
          write: (answer: Parameters<typeof envoyGrpc.write>[0]) =>
            envoyGrpc.write(answer) + tokenField(`token-${++tokens}`),
        },
        proxySecrets: [SECRET],
        tls: undefined,
        services: [],
        streamServices: [
          accessLogService((token, { status, headers, units }) => {
            settled.push({
              token,
              ...(status !== undefined && { status }),
              ...(headers !== undefined && { headers: Object.fromEntries(headers) }),
              ...(units !== undefined && { units: Object.fromEntries(units) }),
            });
            return 'settled';
          }),
        ],
        handleCheck: (pending) => pending.answer(EXEMPT, STYLE),
        onUnauthorized: () => expect.unreachable(),
        onConnectionFault: (error) => expect.unreachable(String(error)),
      });
      const grpc = started.use(
        await listenLocally(createServer((connection) => server.take(connection))),
      );
      started.defer(() => server.close(0));
      const application = started.use(
        await listenLocally(
          createHttpServer(({ url = '' }, response) => answerCompletion(url, response)),
        ),
      );
      envoy = started.use(
        await startEnvoyGrpc(
          {
            ...{ application: application.port, headgate: 0, grpc: grpc.port, secret: SECRET },
            changes: { [HCM]: HCM + ACCESS_LOG, [ROUTER]: UNITS + ROUTER },
          },
          program,
        ),
      );
    });
    afterAll(() => started.disposeAsync());

    const nextSettled = async () => {
      const token = `token-${tokens}`;
      await waitUntil(`${token} is settled`, async () => settled.at(-1)?.token === token);
      return settled.at(-1);
    };

    test('the units that an answer in JSON tells, its status and its headers', async () => {
      expect((await call(envoy.url, '/json')).status).toBe(200);
      expect(await nextSettled()).toEqual({
        token: 'token-1',
        status: 200,
        headers: { 'x-login': 'ok' },
        units: { tokens: 42 },
      });
    });

    test('where a redirect leads', async () => {
      expect((await call(envoy.url, '/redirect')).status).toBe(302);
      const { status, headers } = (await nextSettled()) ?? {};
      expect([status, headers]).toEqual([302, { location: '/home' }]);
    });

    test('a stream that its client aborts: without units, and without the status of the upstream', async () => {
      const request = get(`${envoy.url}/stream`);
      const [response] = await once(request, 'response');
      await once(response, 'data');
      response.destroy();
      expect(await nextSettled()).toEqual({ token: `token-${tokens}` });
    });

    test('an answer that Envoy made: without its status', async () => {
      expect((await call(envoy.url, '/broken')).status).toBe(503);
      expect(await nextSettled()).toEqual({ token: `token-${tokens}` });
    });

    test('each request once', async () => {
      expect(settled.map(({ token }) => token)).toEqual([
        ...['token-1', 'token-2', 'token-3', 'token-4'],
      ]);
    });
  });
});
