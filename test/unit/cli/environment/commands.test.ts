import { describe, expect, test } from 'vitest';
import {
  commandEnvironment,
  commandVariables,
  isDropIn,
} from '../../../../src/cli/environment/commands.ts';

/** As Envoy Gateway and the manifests of Istio set them. */
const FILES = { RUNTIME_ROOT: '/data', RUNTIME_SUBDIRECTORY: 'ratelimit' };
const CONTROL_PLANE = { CONFIG_TYPE: 'GRPC_XDS_SOTW' };

test.each<[string, NodeJS.ProcessEnv]>([
  ['a folder', { RUNTIME_ROOT: '/data' }],
  ['a folder below it', { RUNTIME_SUBDIRECTORY: 'ratelimit' }],
  ['a control plane', CONTROL_PLANE],
  ['the address of a control plane', { CONFIG_GRPC_XDS_SERVER_URL: 'gateway:18001' }],
])('%s shows that the variables are those of envoyproxy/ratelimit', (_, given) => {
  expect(isDropIn(given)).toBe(true);
});

test.each<[string, NodeJS.ProcessEnv]>([
  ['no variables', {}],
  [
    'common names',
    { PORT: '80', HOST: 'a', GRPC_PORT: '81', LOG_LEVEL: 'info', REDIS_URL: 'redis:6379' },
  ],
  ['another CONFIG_TYPE', { CONFIG_TYPE: 'yaml' }],
  ['an empty variable', { RUNTIME_ROOT: '' }],
  ["headgate's own files", { ...FILES, HEADGATE_RATELIMIT_CONFIG: '/limits' }],
  ["headgate's own control plane", { ...FILES, HEADGATE_RATELIMIT_CONTROL_PLANE: 'a:1' }],
])('%s leave the variables as they are', (_, given) => {
  expect(isDropIn(given)).toBe(false);
  expect(commandVariables(given)).toBe(given);
});

test('commands have the settings of the gateway in the container', () => {
  const given = { ...FILES, REDIS_URL: 'redis:6379', REDIS_AUTH: 'secret', DEBUG_PORT: '7000' };
  expect(commandEnvironment(given)).toMatchObject({
    opsPort: 7000,
    redis: { addresses: [{ host: 'redis', port: 6379 }] },
    rateLimit: { config: '/data/ratelimit/config' },
  });
  expect(commandEnvironment(CONTROL_PLANE).rateLimit?.controlPlane).toMatchObject({ port: 18000 });
});

describe('what the image sets for headgate serve', () => {
  const OF_IMAGE = {
    HEADGATE_HOST: '0.0.0.0',
    HEADGATE_POLICIES: '/etc/headgate/policies.yaml',
  };

  test('is no choice of the user', () => {
    const { host, policies } = commandEnvironment({ ...FILES, ...OF_IMAGE, GRPC_HOST: '::1' });
    expect(host).toBe('::1');
    expect(policies).toMatch(/ratelimit-only\.yaml$/);
  });

  test('other values win', () => {
    const own = { HEADGATE_HOST: '127.0.0.2', HEADGATE_POLICIES: '/mine.yaml' };
    const { host, policies } = commandEnvironment({ ...FILES, ...own });
    expect([host, policies]).toEqual(['127.0.0.2', '/mine.yaml']);
  });
});
