import { expect, test } from 'vitest';
import { ConfigError } from '../../../../../src/gateway/config/diagnostic.ts';
import {
  parseTarget,
  targetText,
} from '../../../../../src/gateway/config/settings/control-plane-forms.ts';

test.each([
  ['envoy-gateway:18001', 'envoy-gateway', 18_001],
  [
    'envoy-gateway.envoy-gateway-system.svc.cluster.local:1',
    'envoy-gateway.envoy-gateway-system.svc.cluster.local',
    1,
  ],
  ['127.0.0.1:65535', '127.0.0.1', 65_535],
  ['[2001:db8::1]:18001', '2001:db8::1', 18_001],
  ['dns:///envoy-gateway:18001', 'envoy-gateway', 18_001],
  ['dns:envoy-gateway:18001', 'envoy-gateway', 18_001],
])('%s', (text, host, port) => {
  expect(parseTarget(text)).toEqual({ host, port });
  expect(targetText({ host, port })).toBe(text.replace(/^dns:(\/\/\/)?/, ''));
});

test.each([
  '',
  'envoy-gateway',
  'envoy-gateway:',
  'envoy-gateway:0',
  'envoy-gateway:65536',
  'http://envoy-gateway:18001',
  'envoy-gateway:18001/path',
  '2001:db8::1:18001',
  'dns://8.8.8.8/envoy-gateway:18001',
  'unix:/run/xds.sock',
  'user@envoy-gateway:18001',
])('"%s" is no address of a control plane', (text) => {
  expect(() => parseTarget(text)).toThrow(ConfigError);
  expect(() => parseTarget(text)).toThrow(`"${text}", write host:port`);
});
