/** A real Envoy that sends limits which it reads from the metadata of a request. */
import { expect, inject, test } from 'vitest';
import { call, statuses } from '../support/http.ts';
import { startEnvoyRateLimit } from '../support/proxies.ts';
import { startRateLimitGateway } from '../support/rate-limits.ts';
import { startUpstream } from '../support/upstream.ts';

const ACTIONS = 'rate_limits:\n                            - actions: [{ remote_address: {} }]\n';
const FROM_METADATA = `${ACTIONS}                              limit:
                                dynamic_metadata: { metadata_key: { key: limits, path: [{ key: own }] } }
`;
const RATE_LIMIT = '                  - name: envoy.filters.http.ratelimit\n';

/** A filter that writes the metadata of each request. */
const setMetadata = (limit: string) => `                  - name: envoy.filters.http.set_metadata
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.set_metadata.v3.Config
                      metadata: [{ metadata_namespace: limits, value: { own: ${limit} } }]
`;

test.skipIf(inject('programs').envoy === undefined).each([
  {
    what: 'a limit per hour',
    limit: '{ requests_per_unit: 2, unit: HOUR }',
    answers: [200, 200, 429],
    told: '2, 2;w=3600',
  },
  {
    what: 'a limit of 0',
    limit: '{ requests_per_unit: 0, unit: HOUR }',
    answers: [429, 429, 429],
    told: '0, 0;w=3600',
  },
])('Envoy sets $what', async ({ limit, answers, told }) => {
  await using gateway = await startRateLimitGateway('domain: edge\ndescriptors: []\n');
  await using upstream = await startUpstream();
  const changes = { [ACTIONS]: FROM_METADATA, [RATE_LIMIT]: setMetadata(limit) + RATE_LIMIT };
  const behind = { headgate: 0, grpc: gateway.grpcPort, application: upstream.port, changes };
  await using proxy = await startEnvoyRateLimit(behind);
  expect(await statuses(3, () => call(proxy.url, '/page'))).toEqual(answers);
  const { headers } = await call(proxy.url, '/page');
  expect(headers['x-ratelimit-limit']).toBe(told);
});
