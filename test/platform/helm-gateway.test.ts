/** headgate runs with the environment and the mounted files of the rendered pods, up to a denial. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { PATIENT, startGatewayProcess } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { redisIsHere, startRedis } from '../support/redis.ts';
import { renderedChart, valueFile } from './support/helm.ts';
import {
  type ConfigMap,
  containersOf,
  type Deployment,
  environmentOf,
  type KubernetesObject,
  ofKind,
  probesOf,
} from './support/kubernetes.ts';

const { helm: hasHelm } = inject('programs');

const folder = mkdtempSync(join(tmpdir(), 'headgate-helm-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Values that this machine has in place of the cluster's. */
const HERE = {
  HEADGATE_HOST: '127.0.0.1',
  HEADGATE_OPS_HOST: '127.0.0.1',
  HEADGATE_GRPC_PORT: 'off',
  HEADGATE_DRAIN_MS: '0',
};

describe.skipIf(!hasHelm)('the pod', () => {
  test('of the default values denies the sixth login, and its probe succeeds', async () => {
    const objects = renderedChart([]);
    await using gateway = await startGatewayProcess(environmentHere(objects));
    const login = () =>
      call(gateway.url, '/nginx', { headers: checkOf('POST', '/api/auth/login') });
    expect(await statuses(6, login)).toEqual([200, 200, 200, 200, 200, 429]);
    const [container] = ofKind<Deployment>(objects, 'Deployment').flatMap(containersOf);
    const env = { HEADGATE_OPS_PORT: new URL(gateway.opsUrl).port };
    const probes = container === undefined ? [] : probesOf(container);
    expect(probes).toHaveLength(2);
    for (const { exec } of probes) {
      const [program, ...args] = exec?.command ?? [];
      expect(program).toBe('headgate');
      expect(await runCommand(args, { env })).toMatchObject({ code: 0 });
    }
  });

  test.skipIf(!redisIsHere)(
    'with Redis, secrets and keys asks for the secrets, and knows the plan of a key',
    async () => {
      await using redis = await startRedis();
      const objects = renderedChart(['--values', valueFile('redis.yaml')]);
      const env = environmentHere(objects);
      expect(env.HEADGATE_REDIS_URL).toBe('redis://headgate@redis.redis.svc.cluster.local:6379/0');
      await using gateway = await startGatewayProcess({
        ...env,
        ...PATIENT,
        HEADGATE_REDIS_URL: redis.url,
      });
      const check = checkOf('GET', '/anything');
      expect((await call(gateway.url, '/nginx', { headers: check })).status).toBe(403);
      const secret = { ...check, 'x-headgate-secret': env.HEADGATE_PROXY_SECRET ?? '' };
      const limitOf = async (headers: Record<string, string>) =>
        (await call(gateway.url, '/nginx', { headers: { ...secret, ...headers } })).headers[
          'x-ratelimit-limit'
        ];
      expect(await limitOf({})).toBe('1000');
      // Its SHA-256 is in the values.
      expect(await limitOf({ 'x-api-key': 'foo' })).toBe('20000');
      const overview = { authorization: `Bearer ${env.HEADGATE_ADMIN_TOKEN}` };
      expect((await call(gateway.opsUrl, '/v1/overview')).status).toBe(401);
      expect((await call(gateway.opsUrl, '/v1/overview', { headers: overview })).status).toBe(200);
    },
  );
});

function checkOf(method: string, uri: string): Record<string, string> {
  return {
    host: 'shop.example.com',
    'x-original-method': method,
    'x-original-uri': uri,
    'x-real-ip': '203.0.113.7',
  };
}

/** The environment of the container, with its files in a folder of this machine. */
function environmentHere(objects: readonly KubernetesObject[]): Record<string, string | undefined> {
  const [deployment] = ofKind<Deployment>(objects, 'Deployment');
  const [container] = deployment === undefined ? [] : containersOf(deployment);
  if (container === undefined) throw new Error('there must be a container');
  const mounted = mkdtempSync(join(folder, 'etc-'));
  for (const [name, text] of Object.entries(filesOf(objects)))
    writeFileSync(join(mounted, name), text);
  const env = { ...environmentOf(container, secretsOf(objects)), ...HERE };
  return { ...env, HEADGATE_POLICIES: join(mounted, 'policies.yaml') };
}

function secretsOf(objects: readonly KubernetesObject[]): Record<string, string> {
  const secrets = ofKind<ConfigMap>(objects, 'Secret').flatMap(({ data }) => Object.entries(data));
  return Object.fromEntries(
    secrets.map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]),
  );
}

/** What the volume of the pod holds. */
function filesOf(objects: readonly KubernetesObject[]): Record<string, string> {
  const { 'policies.yaml': policies = '' } = ofKind<ConfigMap>(objects, 'ConfigMap')[0]?.data ?? {};
  const { 'keys.yaml': keys } = secretsOf(objects);
  return { 'policies.yaml': policies, ...(keys !== undefined && { 'keys.yaml': keys }) };
}
