/** `headgate doctor` with right set-ups and wrong ones. Every finding occurs. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { FINDINGS } from '../../src/cli/doctor/catalog.ts';
import { throughFindings } from '../../src/cli/doctor/through/client-view.ts';
import { PROXIES } from '../../src/cli/proxy-files/print/proxy-config.ts';
import { DEFAULT_ANSWERS } from '../../src/cli/proxy-files/setup/answers.ts';
import { setupFiles } from '../../src/cli/proxy-files/setup/setup.ts';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { runCommand } from '../support/command.ts';
import { PATIENT, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { listenLocally } from '../support/local-server.ts';
import { writeNginxSite } from '../support/nginx-site.ts';
import { freePort } from '../support/ports.ts';
import { startProcess } from '../support/process.ts';
import { type Behind, type RunningProgram, startNginx } from '../support/proxies.ts';
import { proxyConfigOf } from '../support/proxy-config.ts';
import { redisIsHere, startRedis } from '../support/redis.ts';
import { MAIN, NODE } from '../support/tested-command.ts';
import { startUpstream } from '../support/upstream.ts';

const { nginx } = inject('programs');
const folder = mkdtempSync(join(tmpdir(), 'headgate-doctor-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

/** Writes a file and returns its path. */
function fileWith(text: string): string {
  const path = join(folder, `file-${++files}`);
  writeFileSync(path, text);
  return path;
}

interface Finding {
  readonly id: string;
  readonly severity: string;
  readonly subject: string;
  readonly problem: string;
  readonly remedy: string;
}

interface Diagnosis {
  readonly code: number | null;
  readonly findings: readonly Finding[];
  readonly errors: number;
  readonly stderr: string;
}

const seen = new Set<string>();

async function diagnose(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  input?: string,
): Promise<Diagnosis> {
  // Otherwise the shipped file, whose list of Cloudflare networks grows old.
  const all = args.includes('--policies') ? args : ['--policies', policyFile, ...args];
  const given = input === undefined ? { env } : { env, input };
  const run = await runCommand(['doctor', '-o', 'json', ...all], given);
  const { findings, errors } = JSON.parse(run.stdout);
  for (const { id } of findings) seen.add(id);
  return { code: run.code, findings, errors, stderr: run.stderr };
}

/** The ids of errors, warnings and notes. */
function complaints({ findings }: Diagnosis): string[] {
  return findings.filter(({ severity }) => severity !== 'fine').map(({ id }) => id);
}

const POLICIES = `
version: 1
identity: { sources: [api_key, user, ip], user: { header: x-user } }
default: { limits: [100/1h] }
policies:
  - { name: tenants, match: { path: /tenants }, limits: [{ rate: 30/1h, per: "header:x-tenant" }] }
  - { name: login, match: { path: /login }, limits: [9/1h], on_gateway_failure: deny }
`;
const policyFile = fileWith(POLICIES);

/** Ports of 127.0.0.1 on which nothing listens. */
async function freePorts(): Promise<NodeJS.ProcessEnv> {
  return {
    HEADGATE_PORT: String(await freePort()),
    HEADGATE_GRPC_PORT: String(await freePort()),
    HEADGATE_OPS_PORT: String(await freePort()),
  };
}

describe('settings and the machine', () => {
  test('a machine without a gateway is fine', async () => {
    const diagnosis = await diagnose(['--policies', policyFile], await freePorts());
    expect(diagnosis).toMatchObject({ code: 0, errors: 0 });
    expect(complaints(diagnosis)).toEqual([]);
    expect(diagnosis.findings.map(({ id }) => id)).toEqual([
      ...['node', 'open-files', 'policy-file', 'port', 'port', 'port'],
    ]);
  });

  test('a mistake in the environment is an error, and the rest is examined', async () => {
    const diagnosis = await diagnose(['--policies', policyFile], { HEADGATE_PORT: 'http' });
    expect(diagnosis.code).toBe(3);
    expect(diagnosis.findings).toContainEqual(
      expect.objectContaining({ id: 'invalid-setting', subject: 'HEADGATE_PORT' }),
    );
    expect(diagnosis.findings.map(({ id }) => id)).toContain('policy-file');
  });

  test('a check port that others can reach needs a secret', async () => {
    const env = { ...(await freePorts()), HEADGATE_HOST: '0.0.0.0' };
    expect(complaints(await diagnose([], env))).toEqual(['open-check-port']);
    const secret = { HEADGATE_PROXY_SECRET: 'a-secret-of-this-test' };
    expect(complaints(await diagnose([], { ...env, ...secret }))).toEqual([]);
  });

  test('a port beside a unix socket has no effect', async () => {
    const env = { ...(await freePorts()), HEADGATE_LISTEN: `unix:${join(folder, 'socket')}` };
    expect(complaints(await diagnose([], env))).toEqual(['unused-port-setting']);
  });

  test('mistakes and warnings of the policy file have the rules of headgate check', async () => {
    const broken = fileWith('version: 1\ndefault: { limits: [0/1h] }\n');
    const diagnosis = await diagnose(['--policies', broken], await freePorts());
    expect(diagnosis.code).toBe(3);
    const [mistake] = diagnosis.findings.filter(({ severity }) => severity === 'error');
    const check = await runCommand(['check', broken]);
    expect(check.stdout).toContain(` ${mistake?.id}: ${mistake?.problem}`);
    expect(mistake?.subject).toMatch(/:2:\d+$/);
    expect(mistake?.remedy).not.toBe('');
  });

  test.skipIf(process.platform !== 'linux')('few open files are a warning', async () => {
    await using run = startProcess('sh', [
      ...['-c', 'ulimit -n 512; exec "$0" "$@"', NODE, MAIN],
      ...['doctor', '--policies', policyFile],
    ]);
    await run.exited();
    expect(run.output()).toContain('open files: warning low-open-files: at most 512');
    seen.add('low-open-files');
  });
});

describe('the policy file', () => {
  const shipped = readEnvironment({}).policies;

  test('that nobody named is said to be the shipped one, unless the gateway serves it', async () => {
    const ports = await freePorts();
    const examine = async (env: NodeJS.ProcessEnv, cwd = folder) => {
      const { stdout } = await runCommand(['doctor', '-o', 'json'], { env, cwd });
      const findings: Finding[] = JSON.parse(stdout).findings;
      for (const { id } of findings) seen.add(id);
      return findings.find(({ id }) => id === 'policy-file-not-named');
    };
    expect(await examine(ports)).toMatchObject({
      severity: 'warning',
      problem: 'this file comes with headgate, and was examined because none was named',
      remedy: expect.stringContaining('`--policies policies.yaml`'),
    });
    const place = mkdtempSync(join(folder, 'near-'));
    writeFileSync(join(place, 'policies.yaml'), POLICIES);
    expect((await examine(ports, place))?.problem).toMatch(
      /; policies\.yaml in this folder was not examined$/,
    );
    expect(await examine({ ...ports, HEADGATE_POLICIES: policyFile })).toBeUndefined();
    await using other = await startGateway({ ...ports, HEADGATE_POLICIES: policyFile });
    expect((await examine(ports))?.problem).toMatch(/; the running gateway serves another one$/);
    await other.stop();
    await using _same = await startGateway({ ...ports, HEADGATE_POLICIES: shipped });
    expect(await examine(ports)).toBeUndefined();
  });

  test('that the gateway does not serve is a warning', async () => {
    const env = { ...(await freePorts()), HEADGATE_POLICIES: policyFile };
    await using _gateway = await startGateway(env);
    const other = fileWith(`${POLICIES}# Edited.\n`);
    const diagnosis = await diagnose(['--policies', other], env);
    expect(complaints(diagnosis)).toEqual(['other-policy-file']);
    const [finding] = diagnosis.findings.filter(({ id }) => id === 'other-policy-file');
    expect(finding?.problem).toMatch(
      /^the running gateway serves [0-9a-f]{12}, read (\d+ s ago|now), and this file is [0-9a-f]{12}, changed (\d+ s ago|now)$/,
    );
  });

  test('that lacks a plan of its clients is a warning, once one of them has come', async () => {
    const policies = fileWith(`
version: 1
identity: { sources: [user, ip], plan: { header: x-plan }, verified_headers: [x-plan] }
default: { limits: [100/1h], plans: { pro: [200/1h] } }
`);
    const env = { ...(await freePorts()), HEADGATE_POLICIES: policies };
    await using gateway = await startGateway(env);
    const come = (plan: string) =>
      call(gateway.url, '/envoy/a', { headers: { 'x-user': 'anna', 'x-plan': plan } });
    await come('pro');
    expect(complaints(await diagnose(['--policies', policies], env))).toEqual([]);
    await come('prro');
    const diagnosis = await diagnose(['--policies', policies], env);
    expect(complaints(diagnosis)).toEqual(['unknown-plans']);
    expect(diagnosis.findings.find(({ id }) => id === 'unknown-plans')?.problem).toBe(
      'of 1 request since the start, no policy has the plan, so they got the limits without one',
    );
  });

  test('has as many policies as headgate check says', async () => {
    const { findings } = await diagnose([], await freePorts());
    const { stdout } = await runCommand(['check', policyFile]);
    const words = '2 policies and the default';
    expect(stdout).toContain(`fine, ${words}`);
    expect(findings).toContainEqual(
      expect.objectContaining({ id: 'policy-file', problem: `valid: ${words}` }),
    );
  });
});

describe('ports', () => {
  test('of a running gateway are fine, with and without a secret', async () => {
    for (const secret of [undefined, 'a-secret-of-this-test']) {
      const own = { ...(await freePorts()), HEADGATE_POLICIES: policyFile };
      const env = { ...own, ...(secret && { HEADGATE_PROXY_SECRET: secret }) };
      await using _gateway = await startGateway(env);
      const diagnosis = await diagnose([], env);
      expect(complaints(diagnosis)).toEqual([]);
      const ports = diagnosis.findings.filter(({ id }) => id === 'port');
      expect(ports.map(({ problem }) => problem.replace(/^\w+: /, ''))).toEqual([
        ...['a gateway has it', 'a gateway has it', 'a gateway has it'],
      ]);
    }
  });

  test('of another program, and of an address that is not here, are errors', async () => {
    await using upstream = await startUpstream();
    const env = { ...(await freePorts()), HEADGATE_PORT: String(upstream.port) };
    const taken = await diagnose([], env);
    expect(taken.code).toBe(1);
    expect(taken.findings).toContainEqual(
      expect.objectContaining({ id: 'port-taken', subject: `127.0.0.1:${upstream.port}` }),
    );
    const elsewhere = { ...(await freePorts()), HEADGATE_HOST: '203.0.113.1' };
    expect(complaints(await diagnose([], elsewhere))).toContain('port-refused');
  });
});

const FILE_NAMES: Readonly<Record<string, string>> = {
  nginx: 'nginx.conf',
  envoy: 'envoy.yaml',
  'envoy-grpc': 'envoy-grpc.yaml',
  caddy: 'Caddyfile',
  haproxy: 'haproxy.cfg',
  traefik: 'dynamic.yaml',
};

/** Lets the proxy send a header that it sets itself. */
function withUser(text: string): string {
  return text
    .replace('proxy_set_header X-User "";', 'proxy_set_header X-User $remote_user;')
    .replace('#- { exact: x-user', '- { exact: x-user')
    .replace(/^( *)#- X-User$/m, '$1- X-User')
    .replace('X-Headgate-Secret: ""', 'X-User: someone\n          X-Headgate-Secret: ""');
}

/** Policies for MCP calls, whose headers no shipped file passes on. */
const OF_CALLS = `version: 1
default: { limits: [100/1h] }
policies:
  - { name: search, match: { path: /mcp, mcp: { method: tools/call, name: search } }, limits: [5/1h] }
  - { name: rest, match: { path: /mcp, mcp: { method: none } }, limits: [5/1h] }
`;

describe('a file that does not pass on', () => {
  /** What doctor says of the shipped file of NGINX, for these policies. */
  const problems = async (policies: string, shipped: (text: string) => string) => {
    const file = fileWith(shipped(readFileSync('deploy/nginx/nginx.conf', 'utf8')));
    const args = ['--policies', fileWith(policies), '--proxy-file', file];
    const { findings } = await diagnose(args, { ...(await freePorts()), HEADGATE_PORT: '8080' });
    return findings.map(({ id, problem }) => `${id}: ${problem}`);
  };
  const asShipped = (text: string) => text;

  test('headers of MCP calls', async () => {
    expect(await problems(OF_CALLS, asShipped)).toContain(
      'mcp-header-not-passed: nginx does not pass mcp-method on to headgate',
    );
  });
  test('headers of browsers', async () => {
    const policies = `version: 1
answers: { cors: { origins: [https://app.example.com] } }
default: { limits: [100/1h] }
`;
    const found = await problems(policies, (text) =>
      text.replaceAll(/^.*Origin \$http_origin;$/gm, ''),
    );
    expect(found).toContain('cors-header-not-passed: origin does not reach headgate');
  });
  test('or compares no headers that it passes on', async () => {
    const vouched = OF_CALLS.replace(
      'default:',
      'identity: { verified_headers: [mcp-method, mcp-name] }\ndefault:',
    );
    const passing = 'proxy_set_header Mcp-Method $http_mcp_method;';
    const found = await problems(vouched, (text) =>
      text.replaceAll('proxy_set_header Origin', `${passing} proxy_set_header Origin`),
    );
    expect(found).toContain(
      'mcp-header-not-compared: mcp-method may differ from what the body says',
    );
  });
});

describe.each(PROXIES)('the file of %s', (proxy) => {
  const written = withUser(proxyConfigOf(proxy, POLICIES));
  const isEnvoy = proxy.startsWith('envoy');

  async function examine(text: string, env: NodeJS.ProcessEnv = {}): Promise<Diagnosis> {
    const args = ['--policies', policyFile, '--proxy-file', fileWith(text)];
    const ports = await freePorts();
    const shipped = { HEADGATE_PORT: '8080', HEADGATE_GRPC_PORT: '8081' };
    const diagnosis = await diagnose(args, { ...ports, ...shipped, ...env });
    const findings = diagnosis.findings.filter(({ id }) => !id.startsWith('port'));
    return { ...diagnosis, findings };
  }

  // An earlier filter of Envoy must set x-user, which this file cannot show.
  const user = isEnvoy ? ['header-from-client'] : [];

  test('of headgate proxy-config fits', async () => {
    const diagnosis = await examine(written);
    expect(complaints(diagnosis)).toEqual(user);
    if (!isEnvoy) expect(diagnosis.findings.map(({ id }) => id)).toContain('proxy-file');
  });

  test('of headgate init fits its policy file', async () => {
    const all = setupFiles({ ...DEFAULT_ANSWERS, proxy, keys: true });
    const textOf = (name: string) => all.find((file) => file.name === name)?.text ?? '';
    const file = fileWith(textOf(FILE_NAMES[proxy] ?? ''));
    const policies = fileWith(textOf('policies.yaml'));
    const env = { ...(await freePorts()), HEADGATE_PORT: '8080', HEADGATE_GRPC_PORT: '8081' };
    const diagnosis = await diagnose(['--policies', policies, '--proxy-file', file], env);
    expect(complaints(diagnosis).filter((id) => !id.startsWith('port'))).toEqual([]);
  });

  // Caddy passes on every header.
  if (proxy !== 'caddy')
    test('without a header of the policy file is an error', async () => {
      const text = written
        .replaceAll(/^.*X-Tenant \$http_x_tenant;$/gm, '')
        .replace(/^.*exact: x-tenant.*$/m, '')
        .replace(/^.*name: x-tenant,.*$/m, '')
        .replace(',x-tenant', '')
        .replace('x-tenant,', '')
        .replace(/^ *- X-Tenant$/m, '');
      const diagnosis = await examine(text);
      expect(diagnosis.code).toBe(3);
      expect(diagnosis.findings).toContainEqual(
        expect.objectContaining({
          id: 'header-not-passed',
          problem: 'x-tenant does not reach headgate',
        }),
      );
    });

  test('that passes on a user of the client is an error', async () => {
    const text = written
      .replace('X-User $remote_user', 'X-User $http_x_user')
      .replaceAll('header_up -X-User', '')
      .replace('http-request del-header x-user', '')
      .replace('X-User: someone', '');
    const diagnosis = await examine(text);
    expect(complaints(diagnosis)).toEqual(['header-from-client']);
    expect(diagnosis.findings[3]?.problem).toBe('x-user is what the client sends');
  });

  test('without the secret, or with another one, is an error', async () => {
    const env = { HEADGATE_PROXY_SECRET: 'a-secret-of-this-test' };
    const sends = (secret: string) =>
      withUser(proxyConfigOf(proxy, POLICIES, { sendsSecret: true }))
        .replaceAll('"the secret"', `"${secret}"`)
        .replace('{$HEADGATE_PROXY_SECRET:none}', secret);
    if (proxy !== 'caddy')
      expect(complaints(await examine(written, env))).toEqual([...user, 'secret-not-sent']);
    expect(complaints(await examine(sends('the secret'), env))).toContain('secret-not-sent');
    const right = await examine(sends('a-secret-of-this-test'), env);
    expect(complaints(right)).toEqual(user);
    expect(JSON.stringify(right)).not.toContain('a-secret-of-this-test');
  });

  test('is compared with the secret of the running gateway, without its environment', async () => {
    const [wrong, right] = ['another-secret-of-a-test', 'a-secret-of-this-test'];
    const sends = (secret: string) =>
      withUser(proxyConfigOf(proxy, POLICIES, { sendsSecret: true }))
        .replaceAll('"the secret"', `"${secret}"`)
        .replace('{$HEADGATE_PROXY_SECRET:none}', secret);
    const env = { HEADGATE_PORT: String(await freePort()) };
    const own = { ...(await freePorts()), ...env, HEADGATE_POLICIES: policyFile };
    const onSecret = async (text: string) => {
      const { findings } = await examine(text, env);
      return findings.filter(
        ({ id, problem }) => id === 'secret-not-sent' || /secret/.test(problem),
      );
    };
    await using _gateway = await startGateway({ ...own, HEADGATE_PROXY_SECRET: right });
    const [finding] = await onSecret(sends(wrong));
    expect(finding?.problem).toBe(
      'this is another secret, and the running gateway refuses such checks',
    );
    const line = Number(finding?.subject.split(':')[1]);
    if (proxy !== 'caddy') expect(sends(wrong).split('\n')[line - 1]).toContain(wrong);
    expect(await onSecret(sends(right))).toEqual([]);
    if (proxy !== 'caddy')
      expect((await onSecret(written))[0]?.problem).toMatch(/^no secret is sent, and the running/);
  });

  test('that asks another address is a warning', async () => {
    const other = { HEADGATE_PORT: '9999', HEADGATE_GRPC_PORT: '9998' };
    expect(complaints(await examine(written, other))).toEqual([...user, 'other-gateway-address']);
    const everywhere = { HEADGATE_HOST: '0.0.0.0', HEADGATE_PROXY_SECRET: 'a-secret-of-this-test' };
    expect(complaints(await examine(written, everywhere))).not.toContain('other-gateway-address');
  });

  test('that passes no settle token is a warning if a limit charges afterwards', async () => {
    const settling = POLICIES.replace(
      '[9/1h]',
      '[{ rate: 9/1h, refund: { status: [401] } }, 99/1d]',
    );
    const policies = ['--policies', fileWith(settling)];
    const ids = async (text: string) =>
      complaints(await diagnose([...policies, '--proxy-file', fileWith(text)], await freePorts()));
    expect(await ids(written)).not.toContain('settle-token-not-passed');
    const old = written.replaceAll(/x-headgate-settle/gi, 'X-Other');
    expect(await ids(old)).toContain('settle-token-not-passed');
  });

  test('with the routes of another policy file, or none, is an error', async () => {
    const other = POLICIES.replace('/login', '/session');
    const text = withUser(proxyConfigOf(proxy, other));
    expect(complaints(await examine(text))).toEqual([...user, 'other-failure-routes']);
    // A file of Envoy may have lost its comments.
    const without = written
      .replace('# headgate: refused without the gateway', '')
      .replaceAll('gateway_unavailable:', 'other:');
    expect(complaints(await examine(without))).toEqual([...user, 'other-failure-routes']);
  });
});

describe('files of proxies', () => {
  const examine = (text: string, env: NodeJS.ProcessEnv = {}) =>
    diagnose(['--proxy-file', fileWith(text)], env);

  test('that do not ask headgate, or cannot be read, are errors', async () => {
    for (const text of ['', 'events {}\nhttp { server { listen 80; } }\n', '}{;"', '\0'.repeat(9)])
      expect(complaints(await examine(text))).toContain('unknown-proxy-file');
    expect(complaints(await diagnose(['--proxy-file', join(folder, 'none')]))).toContain(
      'unreadable-proxy-file',
    );
    const broken = proxyConfigOf('envoy', POLICIES).replace('static_resources:', '"static');
    expect(complaints(await examine(broken))).toContain('unreadable-proxy-file');
  });

  test('braces, quotes and aliases of hostile files end the examination, not the command', async () => {
    for (const text of ['{'.repeat(100_000), '"'.repeat(100_000), 'a {'.repeat(50_000)])
      expect(complaints(await examine(text))).toContain('unknown-proxy-file');
    const bomb = `forwardAuth: &a [x, x]\n${Array.from({ length: 30 }, (_, i) => `k${i}: &k${i} [${i === 0 ? '*a, *a' : `*k${i - 1}, *k${i - 1}`}]\n`).join('')}`;
    const diagnosis = await examine(bomb);
    expect(complaints(diagnosis)).toContainEqual(expect.stringMatching(/^un.*-proxy-file$/));
  });

  test('of NGINX that turn a 429 into a 500 are errors', async () => {
    const text = proxyConfigOf('nginx', POLICIES);
    for (const part of ['error_page 429 =403 @headgate_denied;', 'proxy_intercept_errors on;'])
      expect(complaints(await examine(text.replace(part, '')))).toContain('denial-becomes-500');
  });

  test('that cannot send metadata are errors, and proxy-config says so', async () => {
    const policies = fileWith(`
version: 1
identity: { sources: [user, ip], user: { metadata: envoy.filters.http.jwt_authn, claim: [payload, sub] } }
default: { limits: [100/1h] }
`);
    const printed = async (proxy: string) => {
      const args = ['proxy-config', proxy, '--policies', policies];
      return runCommand(args, { env: { HEADGATE_GRPC_PORT: '8081' } });
    };
    const env = { ...(await freePorts()), HEADGATE_PORT: '8080', HEADGATE_GRPC_PORT: '8081' };
    const complaintsOf = async (text: string) => {
      const args = ['--policies', policies, '--proxy-file', fileWith(text)];
      return complaints(await diagnose(args, env)).filter((id) => !id.startsWith('port'));
    };
    const http = await printed('envoy');
    expect(http).toMatchObject({
      code: 0,
      stderr:
        'headgate: the policy file reads metadata of envoy.filters.http.jwt_authn, and no file of this proxy can send it: take envoy-grpc, or let the proxy set a header and name that\n',
    });
    expect(await complaintsOf(http.stdout)).toEqual(['metadata-not-sent']);
    const grpc = await printed('envoy-grpc');
    expect(grpc).toMatchObject({ code: 0, stderr: '' });
    expect(await complaintsOf(grpc.stdout)).toEqual(['metadata-not-written']);
    const type = 'type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication';
    const providers = '{ a: { payload_in_metadata: payload } }';
    const tokens = `- { name: tokens, typed_config: { "@type": ${type}, providers: ${providers} } }`;
    const written = grpc.stdout.replace(/( +)- name: headgate.ext_authz\n/, `$1${tokens}\n$&`);
    expect(await complaintsOf(written)).toEqual([]);
  });

  test('of gRPC need its port', async () => {
    const diagnosis = await examine(proxyConfigOf('envoy-grpc', POLICIES), {
      HEADGATE_GRPC_PORT: 'off',
    });
    expect(complaints(diagnosis)).toContain('grpc-off');
  });

  test('that refuse all requests without a gateway get a note', async () => {
    const text = proxyConfigOf('envoy', POLICIES).replace(
      'failure_mode_allow: true',
      'failure_mode_allow: false',
    );
    expect(complaints(await examine(text))).toContain('refuses-without-gateway');
  });
});

describe('a site of NGINX that includes the parts', () => {
  const HTTP = `include headgate-http.conf;
include sites/*.conf;`;
  const SITE = `server {
  listen PORT;
  include headgate-server.conf;
  location / {
    include headgate-location.conf;
    proxy_pass http://127.0.0.1:3000;
  }
}`;

  /** The quickstart's files, with the site in another folder. */
  async function write(http = HTTP, site = SITE): Promise<string> {
    const behind = { policies: POLICIES, headgate: 8080, application: 3000 };
    const written = await writeNginxSite({ ...behind, http });
    const server = join(written.folder, 'headgate-server.conf');
    writeFileSync(server, withUser(readFileSync(server, 'utf8')));
    mkdirSync(join(written.folder, 'sites'));
    writeFileSync(join(written.folder, 'sites', 'shop.conf'), site.replace('PORT', '8000'));
    // Only names with this ending are included.
    writeFileSync(join(written.folder, 'sites', 'shop.conf~'), '}}}');
    writeFileSync(join(written.folder, 'sites', '.hidden.conf'), '}}}');
    return written.folder;
  }

  async function examine(path: string, input?: string): Promise<Diagnosis> {
    const env = { ...(await freePorts()), HEADGATE_PORT: '8080' };
    return diagnose(['--proxy-file', path], env, input);
  }

  const onProxy = ({ findings }: Diagnosis) =>
    findings.filter(({ id }) =>
      /proxy|include|header|inherited|replaced|satisfied|part|unchecked|becomes|denial|own-|check-|rewritten/.test(
        id,
      ),
    );

  test('fits', async () => {
    const diagnosis = await examine(join(await write(), 'nginx.conf'));
    expect(onProxy(diagnosis).map(({ id }) => id)).toEqual(['proxy-file']);
    expect(onProxy(diagnosis)[0]?.problem).toBe('nginx, fits the settings and the policy file');
  });

  test('fits as nginx -T prints it, from standard input, a pipe and a file', async () => {
    const folder = await write();
    const names = ['nginx.conf', 'headgate-http.conf', 'sites/shop.conf', 'headgate-server.conf'];
    const text = (name: string) => readFileSync(join(folder, name), 'utf8');
    const dump = [...names, 'headgate-location.conf']
      .map((name) => `# configuration file /etc/nginx/${name}:\n${text(name)}\n`)
      .join('');
    const diagnoses = [await examine('-', dump), await examine(fileWith(dump))];
    for (const each of diagnoses) expect(onProxy(each).map(({ id }) => id)).toEqual(['proxy-file']);
    const lost = dump.replace('listen 8000;', 'add_header X-Site 1;');
    expect(onProxy(await examine('-', lost))[0]).toMatchObject({
      id: 'lines-not-inherited',
      subject: '/etc/nginx/sites/shop.conf:4',
      problem:
        '1 line (/etc/nginx/sites/shop.conf:2) does not apply in this location: add_header X-Site 1;',
    });
    const command = `exec "$0" "$@" --proxy-file <(cat ${fileWith(lost)})`;
    const doctor = [NODE, MAIN, 'doctor', '--policies', policyFile];
    await using run = startProcess('bash', ['-c', command, ...doctor]);
    await run.exited();
    expect(run.output()).toContain('/etc/nginx/sites/shop.conf:4: warning lines-not-inherited: ');
  });

  test.skipIf(nginx === undefined)('fits as the real nginx -T prints it', async () => {
    const folder = await write();
    const args = ['-T', '-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'];
    const dump = execFileSync(nginx ?? '', [...args, '-g', `pid "${folder}/pid";`], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    expect(onProxy(await examine('-', dump)).map(({ id }) => id)).toEqual(['proxy-file']);
  });

  test('that nginx -T did not print is said to be empty, and another one is named', async () => {
    for (const input of ['', '\n']) {
      const diagnosis = await examine('-', input);
      expect(diagnosis.code).toBe(3);
      expect(diagnosis.findings).toContainEqual(
        expect.objectContaining({
          id: 'empty-input',
          subject: 'standard input',
          problem: 'is empty: run nginx -t, which says why',
        }),
      );
    }
    const doctor = [NODE, MAIN, 'doctor', '--policies', policyFile];
    await using run = startProcess('bash', [
      ...['-c', 'exec "$0" "$@" --proxy-file <(true)', ...doctor],
    ]);
    await run.exited();
    expect(run.output()).toContain(': error empty-input: is empty: ');
    const other = (name: string, text: string) =>
      `# configuration file /etc/nginx/${name}:\n${text}\n`;
    const main = other('nginx.conf', 'events {}\nhttp { server { listen 80; } }');
    const problems = async (dump: string) =>
      onProxy(await examine('-', dump)).map(({ problem }) => problem);
    expect(await problems(main)).toEqual([
      'does not ask headgate; what was read is /etc/nginx/nginx.conf',
    ]);
    expect(await problems(main + other('a.conf', '') + other('b.conf', ''))).toEqual([
      'does not ask headgate; what was read is /etc/nginx/nginx.conf and 2 files that it includes',
    ]);
  });

  test('names the included file and the line', async () => {
    const folder = await write();
    const server = join(folder, 'headgate-server.conf');
    const text = readFileSync(server, 'utf8');
    writeFileSync(server, text.replaceAll(/^.*X-Tenant \$http_x_tenant;$/gm, ''));
    const diagnosis = await examine(join(folder, 'nginx.conf'));
    const line = text.split('\n').findIndex((each) => each.startsWith('location =')) + 1;
    expect(onProxy(diagnosis)).toMatchObject([
      { id: 'header-not-passed', subject: `${server}:${line}` },
    ]);
  });

  test('that does not exist is an error at its line; a pattern may match nothing', async () => {
    const folder = await write(`${HTTP}\ninclude none/*.conf;\ninclude none.conf;`);
    const main = join(folder, 'nginx.conf');
    expect(onProxy(await examine(main))).toMatchObject([
      {
        id: 'unreadable-include',
        subject: `${main}:6`,
        problem: `${join(folder, 'none.conf')}: does not exist`,
      },
    ]);
  });

  test('files that include each other end the examination', async () => {
    const folder = await write(`${HTTP}\ninclude sites/../nginx.conf;`);
    const [finding] = onProxy(await examine(join(folder, 'nginx.conf')));
    expect(finding).toMatchObject({
      id: 'unreadable-include',
      problem: expect.stringContaining('includes itself'),
    });
    writeFileSync(join(folder, 'many.conf'), 'include many.conf;\n'.repeat(50));
    writeFileSync(join(folder, 'nginx.conf'), 'http { include many.conf; }');
    expect(complaints(await examine(join(folder, 'nginx.conf')))).toContain('unreadable-include');
  });

  test('a part alone is an error that names what to do', async () => {
    const folder = await write();
    for (const name of ['headgate-http.conf', 'headgate-location.conf', 'sites/shop.conf']) {
      const [finding] = onProxy(await examine(join(folder, name)));
      expect(finding?.id).toBe('part-of-proxy-file');
      expect(finding?.remedy).toMatch(/^Name the file that includes it\./);
    }
    for (const proxy of ['envoy', 'haproxy', 'traefik']) {
      const part = proxyConfigOf(proxy, POLICIES, { include: true }).split(
        '# headgate: end of part',
      );
      expect(complaints(await examine(fileWith(part[0] ?? '')))).toContain('part-of-proxy-file');
    }
  });

  test('that takes away what the site had gets a finding for each loss', async () => {
    const server = (text: string) => SITE.replace('listen PORT;', text);
    const idsOf = async (text: string) =>
      onProxy(await examine(join(await write(HTTP, server(text)), 'nginx.conf'))).map(
        ({ id }) => id,
      );
    expect(await idsOf('proxy_set_header X-Site 1;')).toEqual(['lines-not-inherited']);
    expect(await idsOf('proxy_set_header Host $host;')).toEqual(['proxy-headers-not-inherited']);
    expect(await idsOf('auth_request /sso;')).toEqual(['other-check-replaced']);
    expect(await idsOf('satisfy any; deny all;')).toEqual(['satisfied-by-headgate']);
    const inside = 'include headgate-location.conf;';
    const around = SITE.replace(inside, 'add_header X-Own 1;').replace('listen PORT;', inside);
    const hidden = onProxy(await examine(join(await write(HTTP, around), 'nginx.conf')));
    expect(hidden.map(({ id }) => id)).toEqual(['part-not-inherited']);
  });

  test('that takes denials, answers or checks away gets an error for each', async () => {
    const inside = 'include headgate-location.conf;';
    const idsOf = async (server: string, location: string) => {
      const site = SITE.replace('listen PORT;', server).replace(inside, location);
      return onProxy(await examine(join(await write(HTTP, site), 'nginx.conf'))).map(
        ({ id }) => id,
      );
    };
    const own = await idsOf('', `error_page 403 /sorry; ${inside}`);
    expect(own).toEqual(['denial-becomes-page']);
    expect(await idsOf('', `${inside} error_page 403 /sorry;`)).toEqual(['own-403-page-unused']);
    expect(await idsOf('', `${inside} proxy_intercept_errors on;`)).toEqual(['own-403-body-lost']);
    const old = `${inside} auth_basic x; error_page 401 = @headgate_refused;`;
    expect(await idsOf('', old)).toEqual(['own-refusal-replaced']);
    expect(await idsOf('rewrite ^/(.*) /index.php?$1 last;', inside)).toEqual(['check-rewritten']);
    const cached = 'location = /_headgate { proxy_cache pages; proxy_pass http://headgate/nginx; }';
    expect(await idsOf(cached, inside)).toContain('check-inherits');
    const missing = 'location /x/ { root /srv; error_page 404 /y; }';
    expect(await idsOf(missing, inside)).toEqual(['denial-on-error-page']);
    const around = 'location /x/ { proxy_pass http://127.0.0.1:3000/; }';
    expect(await idsOf(around, inside)).toEqual(['upstream-unchecked']);
    expect(
      await idsOf('rewrite ^/in$ /login;', `${inside} rewrite ^/sign-in$ /login break;`),
    ).toContain('path-rewritten');
  });

  describe('with a location that goes round headgate', () => {
    const withLocation = async (...locations: string[]) => {
      const site = SITE.replace('listen PORT;', `listen PORT;\n${locations.join('\n')}`);
      return onProxy(await examine(join(await write(HTTP, site), 'nginx.conf')));
    };
    const pass = '{ proxy_pass http://127.0.0.1:3000; }';
    const include = '{ include headgate-location.conf; proxy_pass http://127.0.0.1:3000; }';

    test('is a warning that names its line and the policy', async () => {
      const [finding, ...others] = await withLocation(`location /login ${pass}`);
      expect(others).toEqual([]);
      expect(finding).toMatchObject({
        id: 'limited-path-unchecked',
        severity: 'warning',
        subject: expect.stringMatching(/sites\/shop\.conf:3$/),
        problem:
          'location /login passes requests on without asking headgate, and policy login limits such requests',
      });
      seen.add('limited-path-unchecked');
    });

    test.each([
      ['= /login', pass],
      ['^~ /log', pass],
      ['~ ^/log(in|out)$', pass],
      ['~* /LOGIN', pass],
      ['/Login', pass],
      ['/log', `{ location /login ${pass} }`],
      ['/login', '{ fastcgi_pass 127.0.0.1:9000; }'],
      ['/login', '{ try_files $uri =404; fastcgi_pass 127.0.0.1:9000; }'],
      ['/login', `{ auth_request off; ${pass.slice(1)}`],
    ])('location %s %s', async (match, block) => {
      const findings = await withLocation(`location ${match} ${block}`);
      expect(findings.map(({ id }) => id)).toEqual(['limited-path-unchecked']);
    });

    test.each([
      ['asks headgate', `location /login ${include}`],
      ['inherits the check', `location /log { location /login ${pass} ${include.slice(1)}`],
      ['is for other paths', `location /assets/ ${pass}`],
      ['is for a longer path', `location /login/help ${pass}`],
      ['is no match before another one', `location ~ ^/login ${include} location ~ ^/log ${pass}`],
      ['answers itself', 'location /login { return 301 /; }'],
      ['serves files', 'location /login { root /var/www; }'],
      [
        'passes requests to a server of this NGINX',
        'location /login { proxy_pass http://127.0.0.1:8000; }',
      ],
      ['may go elsewhere', `rewrite ^/login /x; location /login ${pass}`],
      ['has an expression of another kind', `location ~ ^/(?i:login)(?<!x)(?#y) ${pass}`],
    ])('says nothing of one that %s', async (_, locations) => {
      const ids = (await withLocation(locations)).map(({ id }) => id);
      expect(ids).not.toContain('limited-path-unchecked');
    });
  });

  test('without a location that asks headgate', async () => {
    const idle = SITE.replace('    include headgate-location.conf;\n', '');
    const [finding] = onProxy(await examine(join(await write(HTTP, idle), 'nginx.conf')));
    expect(finding).toMatchObject({
      id: 'unknown-proxy-file',
      problem: 'no location has auth_request /_headgate, so nothing is limited',
    });
  });

  test('in one server block, and not in another one that asks headgate', async () => {
    const second = SITE.replace('  include headgate-server.conf;\n', '');
    const folder = await write(HTTP, `${SITE}\n${second}`);
    expect(onProxy(await examine(join(folder, 'nginx.conf')))).toMatchObject([
      {
        id: 'server-part-missing',
        subject: `${join(folder, 'sites', 'shop.conf')}:11`,
        problem: expect.stringMatching(
          /^needs \/_headgate, and the server \(.*shop\.conf:9\) has no/,
        ),
      },
    ]);
  });
});

test('a Caddyfile that imports the parts fits', async () => {
  const place = mkdtempSync(join(folder, 'caddy-'));
  const part = (include: string) =>
    withUser(proxyConfigOf('caddy', POLICIES, { include })).replaceAll('header_up -X-User', '');
  for (const include of ['global', 'file', 'site'])
    writeFileSync(join(place, `headgate-${include}.caddy`), part(include));
  const site = 'http://127.0.0.1:8000 {\n\timport headgate-site.caddy\n}';
  const main = join(place, 'Caddyfile');
  const env = { ...(await freePorts()), HEADGATE_PORT: '8080' };
  for (const [rest, ids] of [
    ['', ['header-from-client']],
    ['import other/*.caddy', ['header-from-client']],
    ['import other.caddy', ['unreadable-include', 'header-from-client']],
  ] as const) {
    writeFileSync(
      main,
      `{\n\timport headgate-global.caddy\n}\nimport headgate-file.caddy\n${site}\n${rest}`,
    );
    expect(complaints(await diagnose(['--proxy-file', main], env))).toEqual(ids);
  }
});

test('a Caddyfile whose parts are old or incomplete has an error', async () => {
  const env = { ...(await freePorts()), HEADGATE_PORT: '8080' };
  const ids = async (text: string) =>
    complaints(await diagnose(['--proxy-file', fileWith(text)], env));
  const part = 'route {\nreverse_proxy 127.0.0.1:8080 {\nrewrite /caddy?\n}\n}';
  expect(await ids(`a.example {\n${part}\nfile_server\n}`)).toContain('part-takes-requests');
  const whole = withUser(proxyConfigOf('caddy', POLICIES));
  expect(await ids(whole.replace(/\tservers 127[^}]*\}\n/, ''))).toContain('global-part-missing');
});

test('a file of Envoy with a mistake of each kind', async () => {
  const AUTHZ = 'type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz';
  const route = (match: string, action: string, setting: string) =>
    `                        - { match: { ${match} }, route: { cluster: application${action} }, typed_per_filter_config: { ${setting} } }\n`;
  const own = (filter: string, value: string) =>
    `${filter}: { "@type": ${AUTHZ}PerRoute, ${value} }`;
  const ROUTES = '                      routes:\n';
  const changed = Object.entries({
    [ROUTES]: [
      ROUTES,
      route('prefix: /files/', '', own('headgate.ext_authz', 'disabled: true')),
      route('path: /a', ', prefix_rewrite: /login', own('sso', 'disabled: true')),
      route('path: /b', '', own('twice', 'disabled: true')),
      route(
        'path: /c',
        '',
        own(
          'headgate.ext_authz',
          'check_settings: { grpc_service: { envoy_grpc: { cluster_name: x } } }',
        ),
      ),
    ].join(''),
    '                http_filters:\n': `                http_filters:\n${`                  - { name: twice, typed_config: { "@type": ${AUTHZ}, grpc_service: { envoy_grpc: { cluster_name: x } } } }\n`.repeat(2)}`,
    'timeout: 0.2s': 'timeout: 0s',
    'use_remote_address: true': 'use_remote_address: false',
    'status_on_error:': 'shadow_mode: true\n                      status_on_error:',
    '[{ upgrade_type: websocket }]': '[{ upgrade_type: CONNECT }]',
  }).reduce(
    (text, [from, to]) => {
      expect(text).toContain(from);
      return text.replace(from, to);
    },
    proxyConfigOf('envoy', POLICIES),
  );
  const diagnosis = await diagnose(['--policies', policyFile, '--proxy-file', fileWith(changed)]);
  expect(complaints(diagnosis)).toEqual(
    expect.arrayContaining([
      ...['check-not-enforced', 'check-timeout', 'path-rewritten', 'request-id-from-client'],
      ...['service-of-route', 'setting-without-filter', 'shared-filter-name'],
      ...['spelling-skips-check', 'upstream-unchecked'],
    ]),
  );
});

describe('routes of other proxies that go round headgate', () => {
  const OFF = `typed_per_filter_config:
                            headgate.ext_authz:
                              "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute
                              disabled: true`;
  const ROUTES = 'routes:\n';
  const route = (match: string) => `                        - match: { ${match} }
                          route: { cluster: application }
                          ${OFF}
`;
  const ROUTER = '    application:\n';
  const router = (name: string, rest: string) =>
    `    ${name}:\n      entryPoints: [web]\n      service: application\n      ${rest}\n`;
  const ASKING = router('asking', 'middlewares: [headgate]\n      rule: PathPrefix(`/`)');
  const CHECK = 'x-tenant,traceparent,origin,access-control-request-method,accept,x-user';

  /** The problem and line of the finding, if there is one. */
  async function wayRound(proxy: string, [from, to]: readonly [string, string]) {
    const text = withUser(proxyConfigOf(proxy, POLICIES));
    expect(text).toContain(from);
    const changed = text.replace(from, to);
    const { findings } = await diagnose(['--proxy-file', fileWith(changed)]);
    const finding = findings.find(({ id }) => id === 'limited-path-unchecked');
    const line = Number(finding?.subject.split(':').at(-1));
    return finding && `${changed.split('\n')[line - 1]?.trim()}: ${finding.problem}`;
  }
  const says = (what: string) =>
    expect.stringContaining(
      `: ${what} passes requests on without asking headgate, and policy login limits such requests`,
    );

  test.each(['envoy', 'envoy-grpc'])('%s', async (proxy) => {
    const problem = (text: string) => wayRound(proxy, [ROUTES, ROUTES + text]);
    expect(await problem(route('prefix: /login'))).toEqual(says('the route for /login'));
    expect(await problem(route('prefix: /login'))).toMatch(/^- match: \{ prefix: \/login \}: /);
    expect(await problem(route('safe_regex: { regex: "/log.*" }'))).toEqual(
      says('the route for this expression'),
    );
    for (const match of ['path: /healthz', 'prefix: /login, headers: [{ name: x }]', 'path: /log'])
      expect(await problem(route(match))).toBeUndefined();
    const checked = route('prefix: /login').replace(OFF, '');
    expect(await problem(checked + route('prefix: /'))).toContain('policy tenants limits');
  });

  test('traefik', async () => {
    const problem = (...texts: string[]) => wayRound('traefik', [ROUTER, texts.join('') + ROUTER]);
    const open = router('open', 'rule: Host(`a.example`) && PathPrefix(`/login`)');
    expect(await problem(ASKING, open)).toEqual(says('the router open'));
    expect(await problem(ASKING, open)).toMatch(/^open:: /);
    // The entry point may have the middleware.
    expect(await problem(open)).toBeUndefined();
    for (const rule of ['PathPrefix(`/assets`)', 'Method(`PUT`) && PathPrefix(`/login`)'])
      expect(await problem(ASKING, router('open', `rule: ${rule}`))).toBeUndefined();
    const first = router(
      'first',
      'middlewares: [headgate@file]\n      rule: Path(`/login`) || Path(`/x`)',
    );
    expect(await problem(ASKING, first, open.replace('Host(`a.example`) && ', ''))).toBeUndefined();
  });

  test('caddy', async () => {
    const SITE = '\timport headgate\n\timport headgate_headers\n\treverse_proxy 127.0.0.1:3000\n';
    const pass = '{\n\treverse_proxy 127.0.0.1:3000\n}';
    const checked = pass.replace('reverse', 'import headgate\n\treverse');
    const problem = (block: string, rest = `handle ${checked}`) =>
      wayRound('caddy', [SITE, `${block}\n${rest}\n`]);
    expect(await problem(`handle /login* ${pass}`)).toEqual(says('handle /login*'));
    expect(await problem(`handle /login* ${pass}`)).toMatch(/^handle \/login\* \{: /);
    expect(await problem(`handle_path /LOGIN ${pass}`)).toEqual(says('handle_path /LOGIN'));
    const api = `handle /api/* ${checked}`;
    expect(await problem(`route /log* ${pass}`, api)).toEqual(says('route /log*'));
    expect(await problem('reverse_proxy 127.0.0.1:3000', api)).toContain(
      'policies tenants, login limit',
    );
    for (const block of [
      ...[`handle /assets/* ${pass}`, 'handle /login {\n\trespond 404\n}'],
      ...[`handle /login ${checked}`, `redir /login /x\nhandle /login ${pass}`],
      ...[`reverse_proxy /login 127.0.0.1:3000`, `route /login ${pass}`],
      // Caddy checks all requests of the site first.
      `import headgate\nhandle /login ${pass}`,
    ])
      expect(await problem(block)).toBeUndefined();
  });

  test('haproxy', async () => {
    const problem = (condition: string) => wayRound('haproxy', [CHECK, `${CHECK} ${condition}`]);
    for (const condition of [
      'unless { path_beg /log }',
      'if !{ path /login }',
      'if { path_beg /api } or { path /tenants }',
      'if { path -m beg /tenants }',
    ])
      expect(await problem(condition)).toEqual(says('the condition of the check'));
    for (const condition of ['', 'unless { path_beg /static }', 'if { src 10.0.0.0/8 }'])
      expect(await problem(condition)).toBeUndefined();
    const named = `${CHECK} if !open`;
    expect(await wayRound('haproxy', [CHECK, `${named}\n  acl open path /login`])).toEqual(
      says('the condition of the check'),
    );
  });
});

describe('a file of HAProxy', () => {
  const written = withUser(proxyConfigOf('haproxy', POLICIES));
  const examine = async (text: string) => {
    const env = { ...(await freePorts()), HEADGATE_PORT: '8080' };
    return complaints(await diagnose(['--proxy-file', fileWith(text)], env));
  };

  test('whose sections of headgate inherit health checks is an error', async () => {
    const inheriting = written
      .replaceAll(' from headgate', '')
      .replace(
        'timeout connect 5s',
        'timeout connect 5s\n  option httpchk\n  default-server check',
      );
    expect(await examine(inheriting)).toEqual(['check-inherits']);
  });

  test('whose other sections lose their defaults is an error', async () => {
    const late = written
      .replace('defaults headgate\nglobal\n', '')
      .replace('frontend clients', 'defaults headgate\nfrontend clients');
    expect(await examine(late)).toEqual(['defaults-lost']);
  });

  test('that logs checks has a note', async () => {
    expect(await examine(written.replace('local0 notice', 'local0'))).toEqual(['checks-logged']);
  });

  test('that changes the path after the check has a warning', async () => {
    const moved = (line: string) =>
      examine(
        written.replace(
          '  default_backend application',
          `  ${line}\n  default_backend application`,
        ),
      );
    expect(await moved('http-request set-path /login if { path /old }')).toEqual([
      'path-rewritten',
    ]);
    expect(await moved('http-request set-path /index.html if { path / }')).toEqual([]);
  });
});

describe('objects of Kubernetes', () => {
  const ingress = (name: string, url: string, host = 'a.example') => `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: ${name}, annotations: { nginx.ingress.kubernetes.io/auth-url: "${url}" } }
spec: { rules: [{ host: ${host}, http: { paths: [{ path: / }] } }] }
---`;
  const OURS = ingress('ours', 'http://headgate.headgate:8080/ingress-nginx');

  test.each([
    ['alone', '', []],
    ['beside another authorizer', ingress('sso', 'http://sso/auth', 'b'), ['other-authorizer']],
    [
      'with another authorizer in its place',
      ingress('sso', 'http://sso/auth'),
      ['authorizer-excluded'],
    ],
  ])('that ask headgate: %s', async (_, other, ids) => {
    const diagnosis = await diagnose(['--proxy-file', fileWith(OURS + other)], await freePorts());
    expect(complaints(diagnosis)).toEqual(ids);
  });

  test('that ask another authorizer are named', async () => {
    const file = fileWith(ingress('sso', 'http://sso/auth'));
    const { findings } = await diagnose(['--proxy-file', file], await freePorts());
    expect(findings).toContainEqual(
      expect.objectContaining({
        id: 'unknown-proxy-file',
        problem: 'does not ask headgate: the Ingress sso asks http://sso/auth',
      }),
    );
  });
});

describe('Redis', () => {
  test('is named as missing only with --redis', async () => {
    const ports = await freePorts();
    expect(complaints(await diagnose(['--redis'], ports))).toEqual(['no-redis']);
    expect((await diagnose(['--redis'], ports)).code).toBe(3);
  });

  test('that keeps keys is missed if the policy file has keys: redis', async () => {
    const keys =
      'version: 1\nidentity: { api_key: { keys: redis } }\ndefault: { limits: [9/1h] }\n';
    const diagnosis = await diagnose(['--policies', fileWith(keys)], await freePorts());
    expect([complaints(diagnosis), diagnosis.code]).toEqual([['keys-not-kept'], 0]);
  });

  test('that does not answer is an error', async () => {
    const url = `redis://127.0.0.1:${await freePort()}`;
    const diagnosis = await diagnose([], { ...(await freePorts()), HEADGATE_REDIS_URL: url });
    expect(diagnosis.code).toBe(1);
    expect(complaints(diagnosis)).toContain('redis-fault');
  });

  test.skipIf(!redisIsHere)('is examined as by headgate check --redis', async () => {
    await using redis = await startRedis();
    const env = { ...(await freePorts()), ...PATIENT, HEADGATE_REDIS_URL: redis.url };
    const diagnosis = await diagnose([], env);
    expect(diagnosis.code).toBe(0);
    const ids = diagnosis.findings.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(['redis', 'redis-note', 'redis-warning']));
    const check = await runCommand(['check', '--redis'], { env });
    for (const { id, problem } of diagnosis.findings)
      if (id === 'redis-warning') expect(check.stdout).toContain(problem);
  });
});

describe.skipIf(nginx === undefined)('--through', () => {
  const PLAIN = 'version: 1\nidentity: { sources: [cf_connecting_ip, ip] }\n';

  interface Site {
    readonly url: string;
    readonly policies: string;
    readonly opsPort: string;
    readonly gatewayPort: number;
  }

  /** A gateway with these limits, or this policy file, behind NGINX. */
  async function startSite(
    limits: string,
    change: Partial<Behind> = {},
    settings: NodeJS.ProcessEnv = {},
  ): Promise<Site & AsyncDisposable> {
    await using stack = new AsyncDisposableStack();
    const policies = fileWith(
      limits.startsWith('[') ? `${PLAIN}default: { limits: ${limits} }\n` : limits,
    );
    const gateway = stack.use(await startGateway({ HEADGATE_POLICIES: policies, ...settings }));
    const upstream = stack.use(await startUpstream());
    const behind = { application: upstream.port, headgate: gateway.port, ...change };
    const proxy: RunningProgram = stack.use(await startNginx(behind));
    const moved = stack.move();
    const opsPort = new URL(gateway.opsUrl).port;
    const { url } = proxy;
    const gatewayPort = gateway.port;
    return {
      url,
      policies,
      opsPort,
      gatewayPort,
      [Symbol.asyncDispose]: () => moved.disposeAsync(),
    };
  }

  async function through({
    url,
    policies = policyFile,
    opsPort,
  }: Pick<Site, 'url'> & Partial<Site>): Promise<Diagnosis & { readonly last: string[] }> {
    const env = { ...(await freePorts()), ...(opsPort && { HEADGATE_OPS_PORT: opsPort }) };
    const diagnosis = await diagnose(['--policies', policies, '--through', url], env);
    expect(diagnosis.stderr).toContain(
      `headgate: sends at most 22 GET requests to ${new URL(url).href}`,
    );
    const last = diagnosis.findings.filter(({ subject }) => subject.startsWith('http'));
    return { ...diagnosis, last: last.map(({ id }) => id) };
  }

  test('a client of a right set-up has one limit, whatever it claims', async () => {
    await using site = await startSite('[100/1h]');
    const diagnosis = await through(site);
    expect(diagnosis.code).toBe(0);
    const problems = diagnosis.findings.slice(-2).map(({ id, problem }) => `${id}: ${problem}`);
    expect(problems).toEqual([
      'through: status 200; 100 requests by X-RateLimit-Limit, 99 remained, then 98; invented addresses change nothing',
      `through: the gateway at http://127.0.0.1:${site.opsPort} trusts the proxy; cf-connecting-ip reached it`,
    ]);
    // Four requests, and this one.
    expect((await call(site.url, '/')).headers['x-ratelimit-remaining']).toBe('95');
  });

  const CHARGED =
    'version: 1\ndefault: { limits: [{ rate: 100/1h, refund: { header: { x-login: ok } } }, 1000/1d] }\n';

  test('the command that prints the file says which policies need reports', async () => {
    const file = fileWith(CHARGED);
    const hint =
      'headgate: default charges afterwards: have the application or Envoy report outcomes (docs/charging-afterwards.md)\n';
    const print = (path: string) => runCommand(['proxy-config', 'nginx', '--policies', path]);
    expect((await print(file)).stderr).toContain(hint);
    expect((await print(policyFile)).stderr).not.toContain('afterwards');
  });

  /** An application that reports the outcome of each request, after its answer. */
  async function startReporting(settleUrl: () => string) {
    const server = createServer(({ headers }, response) => {
      response.end('the application');
      const token = headers['x-headgate-settle'];
      if (token === undefined) return;
      const body = JSON.stringify({ token, headers: { 'x-login': 'ok' } });
      void call(settleUrl(), '/settle', {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body },
      });
    });
    return listenLocally(server);
  }

  test('outcomes of its own requests are awaited', async () => {
    let settleUrl = '';
    await using application = await startReporting(() => settleUrl);
    await using site = await startSite(CHARGED, { application: application.port });
    settleUrl = `http://127.0.0.1:${site.gatewayPort}`;
    const diagnosis = await through(site);
    expect(diagnosis.code).toBe(0);
    expect(diagnosis.findings.at(-1)).toMatchObject({
      id: 'through',
      problem: 'outcomes of default reach the gateway',
    });
  });

  test('says that nothing reports, or that the token does not reach the application', async () => {
    await using silent = await startSite(CHARGED);
    expect((await through(silent)).findings.at(-1)).toMatchObject({
      id: 'not-settled',
      problem:
        'default reserved for 5 of these requests, and no outcome was reported within 5 s; nothing reports to this gateway: neither an application to POST /settle, nor Envoy by its access log',
    });
    const settled = { method: 'POST', headers: { 'content-type': 'application/json' } };
    const body = JSON.stringify({ token: 'of another gateway' });
    await call(`http://127.0.0.1:${silent.gatewayPort}`, '/settle', { ...settled, body });
    expect((await through(silent)).findings.at(-1)?.problem).toContain(
      'an application reports others to POST /settle, so the token of this policy did not reach it',
    );
  });

  test('says if no request of a policy that charges afterwards has come', async () => {
    await using site = await startSite(
      `${PLAIN}default: { limits: [100/1h] }
policies:
  - name: login
    match: { method: POST, path: /login }
    limits: [{ rate: 5/1h, refund: { status: [204] } }, 100/1d]
`,
    );
    expect((await through(site)).findings.at(-1)).toMatchObject({
      id: 'not-reserved',
      problem: expect.stringMatching(/^no request of login has come/),
    });
  });

  test('an answer with the token of its request is an error', async () => {
    const echo = createServer(({ headers: { 'x-headgate-settle': token } }, response) => {
      if (token !== undefined) response.setHeader('x-headgate-settle', token);
      response.end('the application');
    });
    await using application = await listenLocally(echo);
    await using site = await startSite(CHARGED, {
      application: application.port,
      changes: { 'proxy_hide_header X-Headgate-Settle;': '' },
    });
    const diagnosis = await through(site);
    expect(diagnosis.code).toBe(1);
    expect(diagnosis.last).toContain('settle-token-shown');
  });

  test('names each header that gives a client a fresh limit', async () => {
    await using site = await startSite('[100/1h]', {
      changes: {
        '#include cloudflare.conf;': 'set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;',
      },
    });
    const diagnosis = await through(site);
    expect(diagnosis.code).toBe(1);
    expect(diagnosis.last).toEqual(['spoofed-address', 'through']);
    expect(diagnosis.findings.at(-2)?.problem).toBe(
      'with an invented X-Forwarded-For, a client has a fresh limit',
    );
  });

  test('asks for each path of a policy, and says which ones go round headgate', async () => {
    const file = `${PLAIN}default: { limits: [100/1h] }
policies:
  - { name: search, match: { method: GET, path: /search }, limits: [50/1h] }
  - { name: login, match: { method: POST, path: /login }, limits: [5/1h] }
  - { name: users, match: { path: "/users/:id" }, limits: [5/1h] }
  - { name: other, match: { host: other.example, path: /other }, limits: [5/1h] }
`;
    const open = 'location /search { return 200; }\n';
    await using site = await startSite(file, {
      changes: { 'location / {': `${open}location / {` },
    });
    const { url, policies, opsPort } = site;
    const env = { ...(await freePorts()), HEADGATE_OPS_PORT: opsPort };
    const { stderr, findings } = await diagnose(['--policies', policies, '--through', url], env);
    expect(stderr).toBe(
      `headgate: sends at most 22 GET requests to ${url}/, and a HEAD request to /search, /login\n`,
    );
    const [plain, ...paths] = findings.filter(({ subject }) => subject.startsWith(url)).slice(0, 3);
    expect(plain?.id).toBe('through');
    expect(paths.map(({ id, subject, problem }) => `${subject} ${id}: ${problem}`)).toEqual([
      `${url}/search not-limited: policy search is for this path, and HEAD got status 200 without X-RateLimit-Limit`,
      `${url}/ through: headgate checks /login, too; not tried: /users/:id (name such a URL with --through)`,
    ]);
  });

  const policiesWith = (identity: string) =>
    `version: 1\nidentity: ${identity}\ndefault: { limits: [100/1h] }\n`;

  test('tells a gateway that does not trust the proxy, whose clients share one counter', async () => {
    const file = policiesWith('{ sources: [ip], trusted_proxies: [10.0.0.0/8] }');
    await using site = await startSite(file);
    const diagnosis = await through(site);
    expect(diagnosis).toMatchObject({ code: 1, last: ['through', 'proxy-not-trusted'] });
    expect(diagnosis.findings.at(-1)?.problem).toBe(
      'the gateway does not trust the proxy that sent 4 checks: the proxy connects from this machine, so identity.trusted_proxies must have loopback',
    );
    // So do denied requests.
    await using spent = await startSite(file.replace('100/1h', '1/1h'));
    expect((await through(spent)).last).toEqual(['denied-now', 'proxy-not-trusted']);
    const trusted = policiesWith('{ sources: [ip], trusted_proxies: [loopback] }');
    await using right = await startSite(trusted);
    expect((await through(right)).last).toEqual(['through', 'through']);
  });

  test('tells which headers of clients do not reach the gateway', async () => {
    const keys = policiesWith('{ sources: [api_key, ip] }');
    const lost = { 'proxy_set_header X-Api-Key $http_x_api_key;': '' };
    await using site = await startSite(keys, { changes: lost });
    const diagnosis = await through(site);
    expect(diagnosis).toMatchObject({ code: 1, last: ['through', 'header-lost'] });
    expect(diagnosis.findings.at(-1)).toMatchObject({
      problem: 'x-api-key was sent, and did not reach the gateway',
      remedy: expect.stringContaining('headgate proxy-config NAME --policies FILE'),
    });
    await using right = await startSite(keys);
    expect((await through(right)).findings.at(-1)?.problem).toContain('; x-api-key reached it');
  });

  test('tells which headers of MCP calls do not reach the gateway', async () => {
    await using site = await startSite(OF_CALLS);
    const diagnosis = await through(site);
    expect(diagnosis.last).toContain('mcp-header-lost');
  });

  test('says what it could not examine', async () => {
    await using site = await startSite('[100/1h]');
    const { url, policies, opsPort } = site;
    const problem = async (change: Partial<Site>) => {
      const { last, findings } = await through({ url, policies, opsPort, ...change });
      expect(last).toEqual(['through', 'not-examined']);
      return findings.at(-1)?.problem;
    };
    expect(await problem({ opsPort: String(await freePort()) })).toMatch(/^no gateway answers at /);
    await using other = await startGateway({ HEADGATE_POLICIES: policies });
    expect(await problem({ opsPort: new URL(other.opsUrl).port })).toContain('got none of these');
    expect(await problem({ policies: policyFile })).toContain('serves another policy file');
  });

  test('tells a denial from a 500', async () => {
    await using right = await startSite('[1/1h]');
    expect((await through(right)).last).toEqual(['denied-now', 'through']);
    const trap = { 'error_page 429 =403 @headgate_denied;': '' };
    await using wrong = await startSite('[1/1h]', { changes: trap });
    const diagnosis = await through(wrong);
    expect(diagnosis).toMatchObject({ code: 1, last: ['answered-500'] });
  });

  test('tells a proxy without a gateway, and without headgate', async () => {
    await using site = await startSite('[9/1h]', { headgate: await freePort() });
    expect((await through(site)).last).toEqual(['gateway-unreachable']);
    const unchecked = { 'auth_request /_headgate;': '' };
    await using open = await startSite('[9/1h]', { changes: unchecked });
    expect((await through(open)).last).toEqual(['not-limited']);
    const nothing = await through({ url: `http://127.0.0.1:${await freePort()}/` });
    expect(nothing).toMatchObject({ code: 1, last: ['no-answer'] });
    expect(nothing.findings.at(-1)?.problem).toBe('ECONNREFUSED');
  });

  test('tells a proxy without the secret from a blocked client and from the application', async () => {
    const settings = { HEADGATE_PROXY_SECRET: 'a-secret-of-this-test' };
    await using site = await startSite('[9/1h]', {}, settings);
    expect((await through({ url: site.url })).findings.at(-1)).toMatchObject({
      id: 'answered-403',
      problem: 'status 403 without X-RateLimit-Limit',
    });
    const known = await through(site);
    expect(known.last).toEqual(['answered-403']);
    expect(known.findings.at(-1)?.problem).toMatch(
      /: the gateway refused the check, because the s/,
    );
    expect(known.findings.at(-1)?.remedy).toMatch(/^Put the value of `HEADGATE_PROXY_SECRET` into/);
    await using blocked = await startSite(
      'version: 1\nidentity: { trusted_proxies: [loopback] }\nblock: [127.0.0.1]\ndefault: { limits: [9/1h] }\n',
    );
    expect((await through(blocked)).findings.at(-1)).toMatchObject({
      id: 'client-refused',
      problem: 'status 403 with X-RateLimit-Decision-Id',
      remedy: expect.stringMatching(/^See `block` in the policy file/),
    });
    await using own = await startSite('[9/1h]', {
      changes: {
        'auth_request /_headgate;': 'deny all;',
        'error_page 403 = $headgate_answers_403;': '',
      },
    });
    expect((await through(own)).findings.at(-1)?.problem).toMatch(
      /: the gateway got no check, so the proxy or the application has answered$/,
    );
  });

  test('tells a gateway without its Redis', async () => {
    await using site = await startSite(
      '[9/1h]',
      {},
      {
        HEADGATE_REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
      },
    );
    expect((await through(site)).last).toEqual(['store-down', 'through']);
  });

  test('tells when a second request is not counted', async () => {
    await using site = await startSite(
      '[{ rate: 1000000/1s, algorithm: token-bucket, burst: 100 }]',
    );
    expect((await through(site)).last).toEqual(['not-counted', 'through']);
  });

  /** Two NGINX in a row, and both ask the gateway. */
  async function startTwo(limits: string): Promise<Site & AsyncDisposable> {
    await using stack = new AsyncDisposableStack();
    const inner = stack.use(await startSite(limits));
    const application = Number(new URL(inner.url).port);
    const outer: RunningProgram = stack.use(
      await startNginx({ application, headgate: inner.gatewayPort }),
    );
    const moved = stack.move();
    return { ...inner, url: outer.url, [Symbol.asyncDispose]: () => moved.disposeAsync() };
  }

  test('tells when a request is counted twice', async () => {
    await using site = await startTwo('[100/1h]');
    const { last, findings } = await through(site);
    expect(last).toEqual(['counted-twice', 'through', 'through']);
    expect(findings.find(({ id }) => id === 'counted-twice')?.problem).toBe(
      'each of 5 requests lowered X-RateLimit-Remaining by 2 or more, and no policy has the cost 2',
    );
    // Two measures are too few to be sure.
    await using small = await startTwo('[6/1h]');
    expect((await through(small)).last).not.toContain('counted-twice');
  });

  test('takes the cost of a policy for what it is', async () => {
    const costly = `${PLAIN}default: { limits: [100/1h], cost: 2 }\n`;
    await using site = await startSite(costly);
    expect((await through(site)).last).toEqual(['through', 'through']);
  });

  test('compares the clocks', async () => {
    await using site = await startSite('[100/1h]');
    const options = { target: { url: new URL(site.url) }, now: () => Date.now() - 60_000 };
    const ids: string[] = [];
    for await (const { rule } of throughFindings(options)) ids.push(rule);
    expect(ids).toEqual(['clock-differs', 'through']);
    seen.add('clock-differs');
  });

  test('sends the user of the URL, and prints no password', async () => {
    const asks = 'if ($remote_user != "a user") { return 401; }';
    await using site = await startSite('[100/1h]', {
      changes: { 'location / {': `location / { ${asks}` },
    });
    const anonymous = await through(site);
    expect(anonymous).toMatchObject({ code: 0, last: ['answered-by-site'] });
    expect(anonymous.findings.at(-1)?.problem).toBe(
      'status 401 without X-RateLimit-Limit: the gateway got no check, so the proxy or the application has answered',
    );
    const args = [
      '--policies',
      site.policies,
      '--through',
      site.url.replace('//', '//a%20user:pass%40word@'),
    ];
    const env = { ...(await freePorts()), HEADGATE_OPS_PORT: site.opsPort };
    const known = await diagnose(args, env);
    expect(known.findings.slice(-2).map(({ id }) => id)).toEqual(['through', 'through']);
    expect(JSON.stringify(known)).not.toContain('word');
  });

  test('asks another host of the proxy', async () => {
    const shop = 'if ($http_host = shop.example) { return 503 shop; }';
    await using site = await startSite('[100/1h]', {
      changes: { 'location / {': `location / { ${shop}` },
    });
    expect((await through(site)).last).toEqual(['through', 'through']);
    const args = ['--policies', site.policies, '--through', site.url, '--host', 'shop.example'];
    const env = { ...(await freePorts()), HEADGATE_OPS_PORT: site.opsPort };
    const diagnosis = await diagnose(args, env);
    expect(diagnosis.stderr).toContain(`GET requests to ${site.url}/ for shop.example`);
    expect(diagnosis.findings.at(-1)?.id).toBe('answered-by-site');
    for (const wrong of [
      ['--host', 'x'],
      ['--through', site.url, '--host', 'a b'],
    ])
      expect((await runCommand(['doctor', ...wrong])).code).toBe(2);
  });

  test('tells a site that shows no headers from one without checks', async () => {
    const changes = {
      'location / {': 'location @site { return 200; } location / { try_files /none @site;',
      'proxy_pass http://application;': '',
    };
    await using site = await startSite('[100/1h]', { changes });
    expect(await through(site)).toMatchObject({ code: 0, last: ['headers-not-shown', 'through'] });
  });

  test('tells a 503 of the part from a gateway that is down', async () => {
    const turned = {
      'location / {':
        'location / { error_page 401 = @headgate_refused; if ($arg_x = "") { return 401; }',
    };
    await using site = await startSite('[9/1h]', { changes: turned });
    const diagnosis = await through(site);
    expect(diagnosis.last).toEqual(['answered-503']);
    expect(diagnosis.findings.at(-1)?.problem).toMatch(/: the gateway runs and got no check$/);
    const { url, policies } = site;
    expect((await through({ url, policies })).last).toEqual(['gateway-unreachable']);
  });

  test('sees that denials do not reach the client', async () => {
    const page = 'error_page 403 /sorry; location = /sorry { internal; return 403 sorry; }';
    const changes = { 'location / {': `${page} location / { error_page 403 /sorry;` };
    await using site = await startSite('[100/1h]', { changes });
    const diagnosis = await through(site);
    expect(diagnosis).toMatchObject({ code: 1, last: ['through', 'denial-lost', 'through'] });
    expect(diagnosis.findings.at(-2)).toMatchObject({
      subject: `${site.url}/%0A`,
      problem: 'status 403: headgate denied this request, and its answer did not reach the client',
    });
    await using spent = await startSite('[1/1h]', { changes });
    expect((await through(spent)).last).toEqual(['denial-lost']);
  });

  test.each(['ftp://x', 'x', 'http://user:%zz@127.0.0.1/'])('refuses %s', async (url) => {
    const { code, stderr } = await runCommand(['doctor', '--through', url]);
    expect(code).toBe(2);
    expect(stderr).toContain('It must be a URL such as http://127.0.0.1:8000/.');
  });
});

test.skipIf(nginx === undefined || !redisIsHere)('every finding has occurred', () => {
  expect(Object.keys(FINDINGS).filter((id) => !seen.has(id))).toEqual([]);
});

test('text names the severity, the problem and what to do', async () => {
  const env = { ...(await freePorts()), HEADGATE_HOST: '0.0.0.0' };
  const { stdout } = await runCommand(['doctor', '--policies', policyFile], { env });
  expect(stdout).toMatch(
    /^HEADGATE_HOST: warning open-check-port: 0\.0\.0\.0 is open to others, without a secret\n {4}Set `HEADGATE_PROXY_SECRET`/m,
  );
  expect(stdout).toMatch(/^0 errors, 1 warning$/m);
});
