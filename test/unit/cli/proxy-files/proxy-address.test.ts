import { expect, test } from 'vitest';
import { lineText, placeText } from '../../../../src/cli/proxy-files/file-place.ts';
import {
  hostAndPort,
  isHere,
  readAddress,
  readServer,
} from '../../../../src/cli/proxy-files/proxy-address.ts';
import { isThisMachine } from '../../../../src/gateway/core/identity/address.ts';

test.each([
  ['10.0.0.2:8080', { host: '10.0.0.2', port: 8080 }],
  ['[::1]:8080', { host: '::1', port: 8080 }],
  ['my-app.internal:1', { host: 'my-app.internal', port: 1 }],
  ['app:65535', { host: 'app', port: 65_535 }],
  ['unix:/run/headgate/check.sock', { socket: '/run/headgate/check.sock' }],
])('%s', (text, address) => {
  expect(readAddress(text)).toEqual(address);
  expect(hostAndPort(address)).toBe('socket' in address ? undefined : text);
});

test.each([
  ...['app:0', 'app:65536', 'app:123456', 'app', ':80', 'app:', '::1:80', 'a b:80', 'app:80/'],
  ...['unix:run/x.sock', 'unix:', 'unix:/a b', 'http://app:80', '[app]:80', 'x[::1]:80', ''],
])('%j is no address', (text) => {
  expect(() => readAddress(text)).toThrow(
    'It must be a host and a port, such as 10.0.0.2:8080 or [::1]:8080, or unix: and a path.',
  );
  expect(() => readServer(text)).toThrow(/\[::1\]:8080\.$/);
});

test('a socket is no server', () => {
  expect(() => readServer('unix:/run/x.sock')).toThrow('It must be a host and a port');
});

test.each([
  ['localhost', true],
  ['LOCALHOST', true],
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['::1', true],
  ['0.0.0.0', false],
  ['10.0.0.1', false],
  ['localhost.example', false],
])('%s is of this machine: %s', (host, expected) => {
  expect(isThisMachine(host)).toBe(expected);
  expect(isHere({ host, port: 80 })).toBe(expected);
});

test('a socket is not a host of this machine', () => {
  expect(isHere({ socket: '/run/x.sock' })).toBe(false);
});

test('places', () => {
  const place = { file: 'nginx.conf', line: 3, column: 7 };
  expect(placeText(place)).toBe('nginx.conf:3:7');
  expect(lineText(place)).toBe('nginx.conf:3');
});
