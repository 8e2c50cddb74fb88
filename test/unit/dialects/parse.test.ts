import { describe, expect, test } from 'vitest';
import { envoy } from '../../../src/dialects/envoy.ts';
import { nginx } from '../../../src/dialects/nginx.ts';

const SPOOFED = {
  'x-forwarded-uri': '/free',
  'x-original-url': '/free',
  'x-original_uri': '/free',
  x_original_uri: '/free',
  'x-forwarded-method': 'GET',
  'x-http-method-override': 'GET',
  'x-envoy-original-path': '/free',
  forwarded: 'for=6.6.6.6',
  'true-client-ip': '6.6.6.6',
};

describe('Envoy', () => {
  const call = { method: 'POST', target: '/login?next=/', remoteAddress: '127.0.0.1' };

  test('says everything in its request line', () => {
    expect(envoy.parse({ ...call, headers: { host: 'api.example.com' } })).toMatchObject({
      method: 'POST',
      target: '/login?next=/',
      host: 'api.example.com',
      missing: [],
    });
  });
  test('reports addresses in headers that it overwrites', () => {
    const headers = { 'x-headgate-peer-ip': '10.0.0.1', 'x-headgate-client-ip': '203.0.113.9' };
    expect(envoy.parse({ ...call, headers }).addresses).toMatchObject({
      proxy: '127.0.0.1',
      peer: '10.0.0.1',
      client: '203.0.113.9',
      forwardedFor: undefined,
    });
  });
  test('does not read what other proxies send', () => {
    const headers = { ...SPOOFED, 'x-original-uri': '/free', 'x-real-ip': '6.6.6.6' };
    const request = envoy.parse({ ...call, headers });
    expect(request).toMatchObject({ method: 'POST', target: '/login?next=/' });
    expect(request.addresses).toMatchObject({ peer: undefined, client: undefined });
  });
  test('of an empty path asks for the root', () => {
    expect(envoy.parse({ ...call, target: '', headers: {} }).target).toBe('/');
  });
});

describe('NGINX', () => {
  const call = { method: 'HEAD', target: '?method=GET&uri=/free', remoteAddress: '127.0.0.1' };
  const headers = {
    'x-original-method': 'POST',
    'x-original-uri': '/login?a=1,2',
    'x-real-ip': '203.0.113.9',
    'x-headgate-peer-ip': '173.245.48.5',
    host: 'api.example.com',
  };

  test('says everything in headers', () => {
    expect(nginx.parse({ ...call, headers })).toMatchObject({
      method: 'POST',
      target: '/login?a=1,2',
      host: 'api.example.com',
      addresses: { proxy: '127.0.0.1', peer: '173.245.48.5', client: '203.0.113.9' },
      missing: [],
    });
  });
  test('does not read what other proxies send, nor the query of its own URL', () => {
    const request = nginx.parse({ ...call, headers: { ...SPOOFED, ...headers } });
    expect(request).toMatchObject({ method: 'POST', target: '/login?a=1,2' });
  });
  test.each(['x-original-method', 'x-original-uri', 'x-real-ip'])(
    'cannot do without %s',
    (name) => {
      const { [name as 'host']: _, ...rest } = headers;
      expect(nginx.parse({ ...call, headers: rest }).missing).toEqual([name]);
      expect(nginx.parse({ ...call, headers: { ...headers, [name]: '' } }).missing).toEqual([name]);
    },
  );
  test.each(['x-original-method', 'x-real-ip'])('cannot tell which of two %s is meant', (name) => {
    expect(nginx.parse({ ...call, headers: { ...headers, [name]: 'a, b' } }).missing).toEqual([
      name,
    ]);
  });
});
