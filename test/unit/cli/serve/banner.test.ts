import { expect, test } from 'vitest';
import { banner } from '../../../../src/cli/serve/banner.ts';
import type { PolicySource } from '../../../../src/gateway/config/policy-file/policy-source.ts';
import { readEnvironment } from '../../../../src/gateway/config/settings/environment.ts';
import { policySetFrom } from '../../../support/policies.ts';

function linesWith(keys: string, env: Readonly<Record<string, string>> = {}): string {
  const current = policySetFrom(`
version: 1
identity: { sources: [api_key, ip], api_key: { keys: ${keys} } }
default: { limits: [1000/1h] }`);
  const place = { address: '127.0.0.1', family: 'IPv4', port: 8080 };
  const at = { check: place, grpc: undefined, json: undefined, ops: undefined };
  const policies = { current } as PolicySource;
  return banner(readEnvironment(env), policies, { ...at, store: 'counts' }).join('\n');
}

test('says that keys in the store are lost without Redis', () => {
  const lost = 'API KEYS ARE LOST when this process ends (keys: redis): set HEADGATE_REDIS_URL';
  expect(linesWith('redis')).toContain(lost);
  expect(linesWith('[]')).not.toContain('KEYS');
  expect(linesWith('redis', { HEADGATE_REDIS_URL: 'redis://127.0.0.1' })).not.toContain('KEYS');
});
