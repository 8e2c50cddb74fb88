/** `headgate explain`: its output and exit codes. */
import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { startProcess } from '../support/process.ts';
import { temporaryFile } from '../support/temporary.ts';
import { MAIN, NODE } from '../support/tested-command.ts';

async function explain(...args: string[]) {
  const { code, stdout, stderr } = await runCommand(['explain', ...args]);
  return { code, output: stdout + stderr };
}

test('the program explains a request', async () => {
  const program = startProcess(NODE, [MAIN, 'explain', '--url', '/']);
  expect(await program.exited()).toBe(0);
  expect(program.output()).toMatch(/^answer {4}200, if nothing was counted before$/m);
});

test('explains a request of a client behind Cloudflare, step by step', async () => {
  const { code, output } = await explain(
    ...['--method', 'POST', '--url', '/api//auth/LOGIN', '--peer', '173.245.48.5'],
    ...['-H', 'cf-connecting-ip: 203.0.113.9'],
  );
  expect(code).toBe(0);
  for (const line of [
    /^proxy {5}127\.0\.0\.1 is a trusted proxy: loopback, 127\.0\.0\.0\/8$/m,
    /^ {10}cf-connecting-ip is used: 173\.245\.48\.5 is in 173\.245\.48\.0\/20$/m,
    /^identity {2}no API key was sent, or it was not accepted$/m,
    /^path {6}\/api\/\/auth\/LOGIN is read as \/api\/auth\/login$/m,
    /^policy {4}login applies: it is the most specific match$/m,
    /^ {10}search does not match: it requires path \/api\/search and method GET$/m,
    /^limit {5}login: 5 requests per 5 minutes, per client; counted as hg:v1:/m,
    /^answer {4}200, if nothing was counted before$/m,
    /^ {10}sent to envoy \(the default; choose another with --proxy NAME\)$/m,
  ]) {
    expect(output).toMatch(line);
  }
});

test('explains a request with the claims of a token', async () => {
  const metadata = ['--metadata', '{"jwt":{"payload":{"sub":"alice"}}}'];
  using files = new DisposableStack();
  const policies = temporaryFile(
    files,
    'version: 1\nidentity: { sources: [user], user: { metadata: jwt, claim: [payload, sub] } }\ndefault: { limits: [9/1h] }',
  );
  const { output } = await explain('--url', '/', '--policies', policies, ...metadata);
  expect(output).toMatch(/counted as hg:v1:\{u\./);
  const wrong = await explain('--url', '/', '--metadata', '{"jwt":"alice"}');
  expect(wrong.code).toBe(2);
  expect(wrong.output).toContain('It must be a map of what each filter says, such as {"envoy.');
  const alone = await explain('32f2453148f4-1', ...metadata);
  expect(alone.output).toContain('--metadata: only with --url');
});

test('prints the same as JSON', async () => {
  const { output } = await explain('--url', '/api/search', '-o', 'json');
  const { steps, answer } = JSON.parse(output);
  expect(steps).toContainEqual({
    about: 'policy',
    what: 'search applies: it is the most specific match',
  });
  expect(answer).toMatchObject({ status: 200, body: '' });
});

test.each([
  [[], 2, 'give a --url or the id of a decision'],
  [['--url', '/', '-H', 'x-api-key'], 2, 'a name, a colon and a value'],
  [['--url', '/', '-o', 'xml'], 2, 'It must be text or json.'],
  [['--url', '/', '--policies', '/nowhere.yaml'], 3, '/nowhere.yaml'],
  [['--url', '/', '--proxy', 'squid'], 2, 'Allowed names are envoy'],
  [['--url', '/', '--client', '198.51.100.999'], 2, 'must be an IP address, such as 203.0.113.9'],
  [['--url', '/', '--client', 'example.com'], 2, 'must be an IP address'],
  [['--url', '/', '--client', 'id:initech'], 2, 'headgate clients show id:NAME'],
  [['--url', '/', '--client', ''], 2, 'must be an IP address'],
  [['--url', '/', '--client', '10.0.0.0/8'], 2, 'must be an IP address'],
  [['--url', '/', '--peer', 'foo'], 2, 'must be an IP address'],
  [['--url', '/', '--proxy-address', '127.1'], 2, 'must be an IP address'],
  [['--url', '/', '--method', 'get'], 2, 'must be a method in capitals, such as POST'],
  [['--url', '/', '--method', 'GET POST'], 2, 'must be a method in capitals'],
  [['--url', 'api/search'], 2, 'must be a path, such as /search, or a URL'],
  [['--url', 'ftp://example.com/'], 2, 'must be a path'],
  [['--url', 'http:///search'], 2, 'must be a path'],
  [['--url', '/', '-H', 'x api key: a'], 2, 'a name, a colon and a value'],
  [['--url', '/', '-H', 'x-api-key: a\nb: c'], 2, 'a name, a colon and a value'],
  [['32f2453148f4-1', '--client', '203.0.113.9'], 2, '--client: only with --url'],
  [['32f2453148f4-1', '-H', 'a: b', '--method', 'PUT'], 2, '--method, --header: only with --url'],
  [['--domain', 'a', 'key=value', '--peer', '203.0.113.9'], 2, '--peer: only with --url'],
  [
    ['--url', '/', '--proxy', '10.0.0.1', '--proxy-address', '10.0.0.2'],
    2,
    '--proxy-address gives',
  ],
])('%j is refused: exit code %i', async (args, exitCode, said) => {
  const { code, output } = await explain(...args);
  expect({ code, output }).toEqual({ code: exitCode, output: expect.stringContaining(said) });
});

test('shows the answer of the proxy that --proxy names', async () => {
  const { output } = await explain('--url', '/a%00', '--proxy', 'ingress-nginx');
  expect(output).toMatch(/^answer {4}403, if nothing was counted before$/m);
  expect(output).toMatch(/^ {10}sent to ingress-nginx$/m);
  expect(output).toMatch(/^ {10}X-RateLimit-Status: 403$/m);
});

test.each(['--proxy', '--proxy-address'])(
  'takes the address of the proxy from %s',
  async (flag) => {
    const { output } = await explain('--url', '/', flag, '198.51.100.1');
    expect(output).toMatch(/^proxy {5}198\.51\.100\.1 is not in identity\.trusted_proxies/m);
  },
);

test('the body of a denial is one line, without an escaped line end', async () => {
  const { code, output } = await explain('--url', '/a%00');
  expect(code).toBe(0);
  expect(output).toContain('"error":"malformed_path"');
  expect(output).not.toContain('\\u{a}');
});
