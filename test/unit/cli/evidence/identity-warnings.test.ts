import { describe, expect, test } from 'vitest';
import type { LogEntry } from '../../../../src/cli/evidence/formats/log-format.ts';
import { identityWarnings } from '../../../../src/cli/evidence/identity-warnings.ts';
import { createLogRequests, readMapping } from '../../../../src/cli/evidence/log-request.ts';
import { chooseFormat } from '../../../../src/cli/evidence/reading/choose-format.ts';
import { compileLogClient } from '../../../../src/cli/evidence/replay/client-address.ts';
import { policySetFrom } from '../../../support/policies.ts';

const PARSING = { zone: 'UTC', timeIs: undefined, fields: [] } as const;
const END = '- - [05/Jan/2026:10:20:30 +0000] "GET / HTTP/1.1" 200 5 "-" "Chrome/140.0.0.0"';
const numbers = Array.from({ length: 60 }, (_, i) => i);
const clientOf = (i: number) => `203.0.113.${i % 30}`;
const trusting = (trusted: string) =>
  policySetFrom(`
version: 1
identity: { sources: [ip], trusted_proxies: [${trusted}] }
default: { limits: [5/1min] }`);

/** The clients and warnings of a log whose format is chosen by its lines. */
function read(lineOf: (i: number) => string, { trusted = 'loopback', format = 'auto' } = {}) {
  const lines = numbers.map(lineOf);
  const chosen = chooseFormat(format, [{ name: 'log', lines }]).format;
  const policies = trusting(trusted);
  const requestOf = createLogRequests(policies, []);
  const nameOf = compileLogClient(policies.naming, 1);
  const parse = chosen.compile(PARSING);
  const clients = lines.map((line) => {
    const request = requestOf(parse(line) as LogEntry);
    return request === undefined ? 'none' : nameOf(request).name;
  });
  const log = { format: chosen, firstLines: lines };
  const warnings = identityWarnings(log, { parsing: PARSING, policies, mapping: [] });
  return { format: chosen.name, clients: new Set(clients), warnings };
}

const CLIENTS = new Set(numbers.map(clientOf));

describe('X-Forwarded-For before the load balancer is the client:', () => {
  test.each<[string, (client: string) => string]>([
    ['without quotes', (client) => client],
    ['in quotes', (client) => `"${client}"`],
    ['a list', (client) => `198.51.100.7, ${client}`],
    ['a list without a space', (client) => `198.51.100.7,${client}`],
    ['a list in quotes', (client) => `"a b, 198.51.100.7, ${client}"`],
    ['with a port', (client) => `${client}:51234`],
  ])('%s', (_name, written) => {
    const { format, clients, warnings } = read((i) => `${written(clientOf(i))} 10.0.0.5 ${END}`);
    expect(format).toBe('nginx-forwarded');
    expect(clients).toEqual(CLIENTS);
    expect(warnings).toEqual([expect.stringContaining('does not trust the load balancer')]);
  });

  test.each(['""', '"-"', '-', 'unknown', '"unknown"'])('after many lines with %s', (absent) => {
    const first = (i: number) => (i < 50 ? absent : `"198.51.100.7, ${clientOf(i)}"`);
    const { format, clients } = read((i) => `${first(i)} 10.0.0.5 ${END}`);
    expect(format).toMatch(/-forwarded$/);
    expect([...clients]).toContain(clientOf(55));
  });

  test.each(['203.0.113.200', 'fd00::5', '2001:db8::5'])('from a load balancer at %s', (sender) => {
    expect(read((i) => `${clientOf(i)} ${sender} ${END}`).clients).toEqual(CLIENTS);
  });

  test('in one line, too, if the load balancer is private', () => {
    const lines = [`203.0.113.9 10.0.0.5 ${END}`];
    expect(chooseFormat('auto', [{ name: 'log', lines }]).format.name).toBe('nginx-forwarded');
  });

  test('in place of the address, where further proxies are trusted', () => {
    const lineOf = (i: number) => `${clientOf(i)}, 10.1.1.1 ${END}`;
    expect(read(lineOf, { trusted: 'loopback, private' })).toEqual({
      format: 'nginx-combined',
      clients: CLIENTS,
      warnings: [],
    });
  });

  test.each(['"$http_x_forwarded_for"', '$http_x_forwarded_for'])(
    'in a log_format with %s',
    (first) => {
      const format = `${first} $remote_addr [$time_local] "$request" $status`;
      const rest = '[05/Jan/2026:10:20:30 +0000] "GET / HTTP/1.1" 200';
      const written = (i: number) => (first.startsWith('"') ? `"${clientOf(i)}"` : clientOf(i));
      expect(read((i) => `${written(i)} 10.0.0.5 ${rest}`, { format }).clients).toEqual(CLIENTS);
    },
  );

  test('without a warning if the file trusts the load balancer', () => {
    const lineOf = (i: number) => `${clientOf(i)} 10.0.0.5 ${END}`;
    expect(read(lineOf, { trusted: 'loopback, private' }).warnings).toEqual([]);
  });
});

describe('a host before the address stays a host:', () => {
  test.each(['shop.example', 'shop.example:443', '127.0.1.1:80', '203.0.113.250', '_'])(
    '%s',
    (host) => {
      const { format, clients, warnings } = read((i) => `${host} ${clientOf(i)} ${END}`);
      expect(format).toMatch(/-combined$/);
      expect(clients).toEqual(CLIENTS);
      expect(warnings).toEqual([]);
    },
  );
  test('among a few addresses that scanners ask for', () => {
    const host = (i: number) => (i % 20 === 0 ? `198.51.100.${i}` : 'shop.example');
    expect(read((i) => `${host(i)} ${clientOf(i)} ${END}`).clients).toEqual(CLIENTS);
  });
});

describe('it is implausible that', () => {
  test('one client sent everything, while X-Forwarded-For names many', () => {
    const { warnings } = read((i) => `10.0.0.5 ${END} "${clientOf(i)}"`);
    expect(warnings).toEqual([
      'The first 60 requests come from 1 client, but X-Forwarded-For has 30 addresses: what the log takes for a client is probably a load balancer. Name it in identity.trusted_proxies of the policy file.',
    ]);
  });
  test('three clients did, too', () => {
    const { warnings } = read((i) => `198.51.100.${i % 3} ${END} "${clientOf(i)}"`);
    expect(warnings).toEqual([expect.stringContaining('come from 3 clients')]);
  });
  test('one client did, while a column that is not read has many addresses', () => {
    const json = (i: number) =>
      `{"time":"2026-01-05T10:20:30Z","remote_addr":"10.0.0.5","request":"GET / HTTP/1.1","real":"${clientOf(i)}"}`;
    expect(read(json).warnings).toEqual([expect.stringContaining('30 other addresses')]);
  });
  test('hosts are the addresses of clients', () => {
    const { warnings } = read((i) => `${clientOf(i)} 10.0.0.5 ${END}`, {
      format: 'nginx-combined',
    });
    expect(warnings).toContainEqual(expect.stringContaining('add --format nginx-forwarded'));
  });
  test('no host can be a host', () => {
    const json = (i: number) =>
      `{"time":"2026-01-05T10:20:30Z","remote_addr":"${clientOf(i)}","request":"GET / HTTP/1.1","host":"a, b"}`;
    expect(read(json).warnings).toEqual([expect.stringContaining('No host in the first lines')]);
  });
  test('most lines are not understood', () => {
    const { warnings } = read((i) => (i < 50 ? `words ${i}` : `${clientOf(i)} ${END}`));
    expect(warnings).toEqual([
      'Of the first 60 lines, 50 are not understood: the format may be wrong. Give the right one with --format.',
    ]);
  });
});

test('a log of one person is not implausible, whatever its user agents are', () => {
  const lineOf = (i: number) => `203.0.113.9 ${END.replace('140', String(i))}`;
  expect(read(lineOf).warnings).toEqual([]);
});

test('clients that keys tell apart may have one address', () => {
  const policies = trusting('loopback');
  const { format } = chooseFormat('auto', [{ name: 'log', lines: [`10.0.0.5 ${END}`] }]);
  const firstLines = numbers.map((i) => `10.0.0.5 ${END} "${clientOf(i)}"`);
  const mapping = [readMapping('api_key=http_referer')];
  const parsing = { ...PARSING, fields: ['http_referer'] };
  expect(identityWarnings({ format, firstLines }, { parsing, policies, mapping })).toEqual([]);
});

test('keys that Redis has count as unlisted, and that is said once', () => {
  const policies = policySetFrom(`version: 1
identity: { api_key: { keys: redis } }
default: { limits: [10/1h] }`);
  const { format } = chooseFormat('auto', [{ name: 'log', lines: [`10.0.0.5 ${END}`] }]);
  const firstLines = numbers.map((i) => `${clientOf(i)} ${END} "k"`);
  const warningsWith = (mapping: Parameters<typeof identityWarnings>[1]['mapping']) =>
    identityWarnings({ format, firstLines }, { parsing: PARSING, policies, mapping });
  expect(warningsWith([readMapping('api_key=http_referer')])).toEqual([
    'The policy file takes API keys from Redis, which is not asked here: these keys count as unlisted, without their plans.',
  ]);
  // Without keys, nothing counts differently.
  expect(warningsWith([])).toEqual([]);
});
