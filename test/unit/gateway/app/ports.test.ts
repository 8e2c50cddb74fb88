import { expect, test, vi } from 'vitest';
import { warnIfOpen } from '../../../../src/gateway/app/ports.ts';

const at = (address: string) => ({ address, family: 'IPv4', port: 8080 });

function warnings(check: string, grpc: string | undefined, proxySecrets: readonly string[] = []) {
  const checkPortOpen = vi.fn();
  const ports = {
    check: check.startsWith('/') ? check : at(check),
    grpc: grpc === undefined ? undefined : at(grpc),
    json: undefined,
  };
  warnIfOpen(ports, { proxySecrets } as Parameters<typeof warnIfOpen>[1], { checkPortOpen });
  return checkPortOpen.mock.calls.length;
}

test('ports that other machines can reach cause one warning, unless there is a secret', () => {
  expect(warnings('0.0.0.0', undefined)).toBe(1);
  expect(warnings('::', '::')).toBe(1);
  expect(warnings('127.0.0.1', '192.0.2.1')).toBe(1);
  expect(warnings('/run/headgate.sock', '0.0.0.0')).toBe(1);
  expect(warnings('0.0.0.0', '0.0.0.0', ['secret'])).toBe(0);
});

test('ports that only this machine can reach cause no warning', () => {
  expect(warnings('127.0.0.1', undefined)).toBe(0);
  expect(warnings('::1', '::ffff:127.0.0.1')).toBe(0);
  expect(warnings('/run/headgate.sock', undefined)).toBe(0);
});
