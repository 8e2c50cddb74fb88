/**
 * Public advisories about gateways, proxies and libraries: one test or more for each shows that headgate does not have
 * the fault. If the fault was in a proxy, the test sends what such a proxy may pass on.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PATIENT } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { policySetFrom } from '../support/policies.ts';
import { exchange, statusOf } from '../support/raw-http.ts';
import { startRedis, testWithRedis } from '../support/redis.ts';
import { AT_NOON, checkRequest } from '../support/requests.ts';
import {
  ALIASES,
  answerTo,
  ask,
  askAfter,
  BLOCKED,
  type Check,
  CLOUDFLARE,
  DIALECTS,
  EXEMPT,
  FUNNY_NAMES,
  HEALTH_AGENTS,
  HEALTH_PATHS,
  type Headers,
  INNER_PROXY,
  JUNK,
  LISTED_KEY,
  LOGIN,
  PLENTY,
  type PoliciedGateway,
  policies,
  rows,
  SCRAPS,
  SPOOFED,
  SPOOFED_NAMES,
  setsItself,
  startWith,
  tellsLine,
  withKeyIn,
  words,
} from './support/incidents.ts';

/** The tests send checks from loopback, which the first gateway trusts and the second does not. */
let trusting: PoliciedGateway;
let suspicious: PoliciedGateway;

beforeAll(async () => {
  trusting = await startWith(withKeyIn('x-api-key'));
  suspicious = await startWith(policies('trusted_proxies: [10.0.0.0/8]'));
});
afterAll(async () => {
  await trusting[Symbol.asyncDispose]();
  await suspicious[Symbol.asyncDispose]();
});

/** An address that no test used before. */
let clients = 0;
const newClient = () => {
  clients++;
  return `100.64.${clients >> 8}.${clients & 255}`;
};

/** Runs it for every dialect, each time for a new client. */
async function throughEach(run: (check: Check) => Promise<void>): Promise<void> {
  for (const through of DIALECTS) await run({ through, client: newClient() });
}

function everyDialect(title: string, run: (check: Check) => Promise<void>): void {
  test.each(DIALECTS)(`${title} (%s)`, (through) => run({ through, client: newClient() }));
}

/** Expects that with the headers, a check is counted for the same client by the same policies. */
async function expectNoEffect(check: Check, headers: Headers, gateway = trusting) {
  const plain = await ask(gateway, check);
  const disguised = { ...check, headers: { ...check.headers, ...headers } };
  expect(await ask(gateway, disguised)).toEqual({ ...plain, left: plain.left - 1 });
}

/** A value that an application could read in another way is refused. NGINX turns that into a 403 for itself. */
async function expectNoEffectOrRefusal(check: Check, headers: Headers) {
  const disguised = { ...check, headers: { ...check.headers, ...headers } };
  const { status } = await ask(trusting, disguised);
  if (status === 200) await expectNoEffect(check, headers);
  else expect(status).toBe(check.through === 'nginx' ? 403 : 400);
}

async function expectCharged(check: Check, ...policies: string[]) {
  const { charged } = await ask(trusting, check);
  expect(charged, JSON.stringify(check)).toEqual(expect.arrayContaining(policies));
}

/** The most useful value for a client that forges the header. */
function temptation(name: string): string {
  if (/ur[il]|path|prefix/i.test(name)) return '/public/a';
  if (/method/i.test(name)) return 'GET';
  if (/host|server/i.test(name)) return 'partner.example';
  if (name === 'x-code') return '200';
  return name === 'forwarded' ? `for=${EXEMPT};host=partner.example` : EXEMPT;
}

/** Headers without which a check does not say what is requested, and by which client. */
const NEEDED = [
  ['nginx', 'x-original-uri', 'x-original-method', 'x-real-ip'],
  ['caddy', 'x-forwarded-uri', 'x-forwarded-method', 'x-headgate-peer-ip'],
] as const;

describe('a client that forges the headers of its proxy', () => {
  test.each(SPOOFED)(
    '%s: gains nothing from %s, neither another policy nor another client',
    (_, name) =>
      throughEach(async (check) => {
        // Proxies overwrite their own headers. The policy file lets a trusted proxy set the user.
        if (setsItself(check.through ?? 'envoy', name) || name === 'x-user') return;
        await expectNoEffect({ ...check, ...LOGIN }, { [name]: temptation(name) });
      }),
  );
  test('oauth2-proxy#3506: is trusted on loopback only by default, and all addresses cannot be trusted', () => {
    const { identify } = policySetFrom('{ version: 1, default: { limits: [5/1h] } }');
    const isTrusted = (proxy: string) =>
      !identify(checkRequest({ proxy, client: EXEMPT }), AT_NOON).untrustedProxy;
    expect(isTrusted('127.0.0.1')).toBe(true);
    for (const proxy of ['10.0.0.1', '192.168.0.1', 'fd00::1', '198.51.100.1', CLOUDFLARE, '']) {
      expect(isTrusted(proxy)).toBe(false);
    }
    const everybody = '{ version: 1, identity: { trusted_proxies: [0.0.0.0/0] } }';
    expect(() => policySetFrom(everybody)).toThrow(/contains every address/);
  });
  test('CVE-2024-45410, GHSA-62c8-mh53-4cqv, CVE-2021-32813: hides no header by naming it in Connection', () =>
    throughEach((check) =>
      expectNoEffect({ ...check, ...LOGIN }, { connection: SPOOFED_NAMES.join(', ') }),
    ));
  test('CVE-2024-45410: gets the strictest policy if a header of the proxy is missing', async () => {
    for (const [through, ...names] of NEEDED) {
      for (const name of names) {
        for (const missing of [undefined, '']) {
          const check = { through, client: newClient(), headers: { [name]: missing } };
          expect((await ask(trusting, check)).charged).toEqual(['strict']);
        }
      }
    }
  });
  test('CVE-2025-24514: changes nothing by the query of a check', async () => {
    const query = '/public/a?uri=/public/a&x-original-uri=/public/a&method=GET';
    for (const [through] of NEEDED) {
      const check = { through, client: newClient(), ...LOGIN, query };
      expect(await ask(trusting, check)).toMatchObject({ charged: ['login'], left: PLENTY - 1 });
    }
  });
  test('CVE-2025-1974: changes nothing by sending a policy file', async () => {
    const body = '{ version: 1, default: { limits: [1/31d] } }';
    for (const path of words('/ /policies /config /admin/reload /debug /metrics')) {
      for (const url of [trusting.url, trusting.opsUrl]) {
        for (const method of ['POST', 'PUT', 'PATCH']) {
          // 405: the path has a page that is only read.
          const refused = url === trusting.opsUrl && path === '/metrics' ? 405 : 404;
          expect((await call(url, path, { method, body })).status).toBe(refused);
        }
      }
    }
    expect((await ask(trusting, { client: newClient() })).left).toBe(PLENTY - 1);
  });
  everyDialect('CVE-2025-15566: finds nothing of what it sent in the answers', async (check) => {
    const mark = 'sentinel; } server { listen 81';
    const headers = { 'x-api-key': mark, cookie: mark, 'user-agent': mark, 'x-code': mark };
    for (const path of ['/a', '/a%00', ...Array<string>(12).fill('/strict')]) {
      const target = `${path}/../${path}?sentinel#sentinel;sentinel`;
      const { rawHeaders, body } = await answerTo(trusting, { ...check, target, headers });
      expect(`${rawHeaders} ${body}`).not.toContain('sentinel');
    }
  });
});

describe('trust in an address', () => {
  test.each(SPOOFED)('%s: is needed for %s', async (_, name) => {
    for (const through of DIALECTS) {
      if (tellsLine(through, name)) continue;
      await expectNoEffect({ through, ...LOGIN }, { [name]: temptation(name) }, suspicious);
    }
  });
  test('GHSA-vhr5-ggp3-qq85: is missing: exactly the headers that would have been used are counted as ignored', async () => {
    const ofAll = 'cf-connecting-ip forwarded x-forwarded-for x-headgate-peer-ip x-tenant x-user';
    const own = { envoy: 'x-headgate-client-ip', nginx: 'x-real-ip', caddy: '' };
    for (const through of DIALECTS) {
      const names = SPOOFED_NAMES.filter((name) => !tellsLine(through, name));
      const headers = Object.fromEntries(names.map((name) => [name, temptation(name)]));
      const before = await ignoredHeaders();
      await ask(suspicious, { through, ...LOGIN, headers });
      const after = await ignoredHeaders();
      const counted = [...after].filter(([name, count]) => count === (before.get(name) ?? 0) + 1);
      const expected = words(`${ofAll} ${own[through]}`);
      expect(counted.map(([name]) => name).sort()).toEqual(expected.sort());
    }
  });
  test('GHSA-vhr5-ggp3-qq85: makes a header verified', async () => {
    const check = { target: '/tenant', headers: { 'x-tenant': 'acme' } };
    expect((await ask(trusting, check)).charged).toEqual(['tenant']);
    expect((await ask(suspicious, check)).charged).toEqual(['tenant', 'tenant:unverified']);
  });
  everyDialect('GHSA-vhr5-ggp3-qq85: is needed for the exempt and block lists', async (check) => {
    const [exempt, blocked] = [EXEMPT, BLOCKED].map((client) => ({ ...check, client }));
    expect(await ask(trusting, exempt)).toMatchObject({ status: 200, charged: [] });
    expect(await ask(trusting, blocked)).toMatchObject({ status: 403, charged: [] });
    expect(await ask(suspicious, exempt)).toMatchObject({ status: 200, charged: ['default'] });
    expect(await ask(suspicious, blocked)).toMatchObject({ status: 200, charged: ['default'] });
  });
  test('CVE-2026-40575, GHSA-7x63-xv5r-3p2x: is needed for any of hundreds of random sets of headers', async () => {
    const others = ['x-http-method-override', 'user-agent', 'cookie', ...ALIASES, ...FUNNY_NAMES];
    const values = words(`${EXEMPT} ${CLOUDFLARE} 127.0.0.1 ::1 ${INNER_PROXY} /public/a GET *`);
    const name = fc.constantFrom(...SPOOFED_NAMES, ...others);
    const header = fc.tuple(name, fc.constantFrom(...values));
    const disguise = fc.uniqueArray(header, { selector: ([name]) => name, maxLength: 80 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...DIALECTS), disguise, async (through, worn) => {
        const headers = worn.filter(([name]) => !tellsLine(through, name));
        await expectNoEffect({ through, ...LOGIN }, Object.fromEntries(headers), suspicious);
      }),
      { numRuns: 300, seed: 1 },
    );
  });
});

async function ignoredHeaders(): Promise<Map<string, number>> {
  const { body } = await call(suspicious.opsUrl, '/metrics');
  const lines = body.matchAll(/^headgate_untrusted_header_total\{header="(.+)"\} (\d+)$/gm);
  return new Map([...lines].map(([, name = '', count]) => [name, Number(count)]));
}

describe('headers that parsers misread', () => {
  test.each([
    ['CVE-2026-39858, CVE-2026-54763, GHSA-f59h-q822-g45g, GHSA-x677-9fxg-v5c5', '_'],
    ['CVE-2026-88011, traefik v3.7.13', '.'],
  ])(
    '%s: a name with "%s" in place of a hyphen is another header, which is ignored',
    async (_, sign) => {
      for (const alias of ALIASES.filter((name) => name.includes(sign))) {
        const headers = { [alias]: temptation(alias) };
        await throughEach((check) => expectNoEffect({ ...check, ...LOGIN }, headers));
        await expectNoEffect({ client: newClient(), target: '/tenant' }, headers);
      }
    },
  );
  everyDialect('CVE-2026-21710: __proto__ has no meaning', async (check) => {
    const lines = FUNNY_NAMES.map((name) => `${name}: ${EXEMPT}\r\n`.repeat(2)).join('');
    const plain = await ask(trusting, check);
    expect(await askAfter(lines, trusting, check)).toEqual({ ...plain, left: plain.left - 1 });
  });
  everyDialect(
    'CVE-2026-58044, nodejs/node#65470: many headers hide neither path nor client, and too many are refused',
    async (check) => {
      const login = { ...check, ...LOGIN };
      const answer = await askAfter('A: 1\r\n'.repeat(240), trusting, login);
      expect(answer).toEqual({ status: 200, charged: ['login'], left: PLENTY - 1 });
      for (const lines of [257, 1_100, 8_000]) {
        expect((await askAfter('A: 1\r\n'.repeat(lines), trusting, login)).status).toBe(431);
      }
      expect((await ask(trusting, login)).left).toBe(PLENTY - 2);
    },
  );
  everyDialect('CVE-2026-25748: a malformed cookie identifies no client', async (check) => {
    for (const cookie of ['a', '=', ';;;', 'a=%zz', 'a="', '\xff\xfe', 'x'.repeat(9_000)]) {
      await expectNoEffect(check, { cookie });
    }
  });
});

describe('doubled headers', () => {
  const DOUBLES = [LISTED_KEY, 'other'].flatMap((key) => [
    [key, LISTED_KEY],
    [LISTED_KEY, key],
  ]);
  const expectRefused = async (check: Check, headers: Headers) => {
    const { status, charged } = await ask(trusting, { ...check, headers });
    expect({ status, charged }).toEqual({
      status: check.through === 'nginx' ? 403 : 400,
      charged: [],
    });
  };
  everyDialect('CVE-2021-32777: two API keys are refused', async (check) => {
    for (const keys of [...DOUBLES, [LISTED_KEY, ''], ['', LISTED_KEY]]) {
      await expectRefused(check, { 'x-api-key': keys });
    }
  });
  test('CVE-2021-32777: two Authorization fields are refused', async () => {
    await using gateway = await startWith(withKeyIn('authorization'));
    for (const keys of DOUBLES) {
      const lines = keys.map((key) => `Authorization: Bearer ${key}\r\n`).join('');
      expect((await askAfter(lines, gateway)).status).toBe(400);
    }
    const one = { headers: { authorization: `Bearer ${LISTED_KEY}` } };
    expect((await ask(gateway, one)).left).toBe(PLENTY - 1);
  });
  test('CVE-2021-32777: two addresses are ignored, and the peer is the client', async () => {
    const two = () => [EXEMPT, newClient()];
    await expectNoEffect({ client: CLOUDFLARE }, { 'cf-connecting-ip': two() });
    const peer = { client: newClient(), target: '/strict' };
    await expectNoEffect(peer, { 'x-headgate-client-ip': two() });
    const throughNginx = { ...peer, through: 'nginx', headers: { 'x-real-ip': two() } } as const;
    expect(await ask(trusting, throughNginx)).toMatchObject({ charged: ['strict'], left: 2 });
  });
  test('CVE-2026-26308: two tenants or two users of a trusted proxy are refused', async () => {
    const check = { client: newClient(), target: '/tenant' };
    for (const name of ['x-tenant', 'x-user'])
      await expectRefused(check, { [name]: ['acme', newClient()] });
  });
  test('CVE-2026-26308: a request with two hosts is refused', async () => {
    for (const host of ['a.example', 'partner.example']) {
      expect((await askAfter('Host: a.example\r\n', trusting, { host })).status).toBe(400);
    }
  });
  test('CVE-2021-32777: two methods or paths are ignored, and the strictest policy applies', async () => {
    for (const [through, uri, method] of NEEDED) {
      const doubled = (name: string, values: string[]) =>
        expectCharged({ through, client: newClient(), headers: { [name]: values } }, 'strict');
      await doubled(method, ['GET', 'POST']);
      await doubled(uri, ['/public/a', '/strict']);
      await doubled(uri, ['/strict', '/public/a']);
    }
  });
});

describe('odd spellings of a path and a host', () => {
  test.each(
    rows(`
    CVE-2019-9901       /public/../api/auth/login    /./api/./auth/login             //api//auth//login
    CVE-2021-29492      /api%2fauth%2flogin          /api%5Cauth%5clogin             /api\\auth\\login
    CVE-2025-66490      /api%2Fauth%2Flogin          /api/auth/login%3Bx             /api/auth/login%3Fx
    Caddy#7941          /public/..%2fapi/auth/login  /public/%2e%2e%2fapi/auth/login /api/auth%252flogin
    CVE-2021-31920      /api/auth//login             ///api/auth/login               /api/auth/%2flogin
    CVE-2026-15573      /public;/../api/auth/login   /public/..;/api/auth/login      /api/%61uth/login/
    GHSA-p224-6x5r-fjpm /public/../api/auth/login    /public/%2e%2e/api/auth/login   /public/.%2E/api/auth/login
    CVE-2026-73511      /api/auth/login;param        /api;a=b/auth;c/login;d         /api/auth/login;/x
    CVE-2026-73551      /api/auth/.;/login           /api/auth/.;x=1/login           /public/..;x/api/auth/login
    ingress-nginx#8644  /public/../api/auth/login    /public/%2E%2E/api/auth/login   /public/a/../../api/auth/login
    CVE-2021-43557      /public/./../api/auth/login  /public//../api/auth/login      /public/%2e./api/auth/login
    CVE-2026-27588      /API/AUTH/LOGIN              /Api/%41uth/Login               /api/auth/%4C%4f%47in
    CVE-2021-32779      /api/auth/login#/public/a    /api/auth/login#                /api/auth/login#x?y
    CVE-2021-39156      /api/auth/login#/../public/a /api/auth/login%23/public/a     /api/auth/login/#`),
  )('%s: the login policy applies to every spelling of its path', async (_, ...spellings) => {
    for (const target of spellings) {
      await throughEach((check) => expectCharged({ ...check, ...LOGIN, target }, 'login'));
    }
  });
  test.each([
    ['CVE-2026-41059, GHSA-pxq7-h93f-9jrg', '/public/a#/api/auth/login', '/public/a#'],
    ['CVE-2025-54576', '/public/a?/api/auth/login', '/public/a?x=/../../api/auth/login'],
  ])('%s: a fragment or query does not change the policy', async (_, ...targets) => {
    for (const target of targets) {
      await throughEach((check) => expectCharged({ ...check, ...LOGIN, target }, 'public'));
    }
  });
  everyDialect('CVE-2025-54576: a long query changes neither policy nor client', async (check) => {
    for (let i = 1; i <= 20; i++) {
      const target = `/api/auth/login?${'/public/a?'.repeat(i)}&_=${i}`;
      const login = await ask(trusting, { ...check, ...LOGIN, target });
      expect(login).toMatchObject({ charged: ['login'], left: PLENTY - i });
    }
  });
  test.each(words('PARTNER.example Partner.Example:8443 partner.example. partner.EXAMPLE.:80'))(
    'CVE-2021-39155, CVE-2026-27587: %s is partner.example',
    (host) => throughEach((check) => expectCharged({ ...check, host }, 'default', 'partner')),
  );
});

describe('malformed input', () => {
  test('CVE-2021-32637, GHSA-68wm-pfjf-wqp6: in a target is refused or counted', async () => {
    const target = fc.array(fc.constantFrom(...SCRAPS));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...DIALECTS), target, async (through, parts) => {
        const text = parts.join('');
        // A request line has no blanks, and Envoy appends a path, which begins with a slash.
        const target = through === 'envoy' ? `/${text.replace(/\s/g, '')}` : text;
        const { status, charged } = await ask(trusting, { through, target, client: newClient() });
        if (status === 200) expect(charged).not.toEqual([]);
        else expect([400, 403]).toContain(status);
      }),
      { numRuns: 300, seed: 1 },
    );
  });
  test('CVE-2021-32637: in a request line, as control characters, is refused or counted', async () => {
    for (const char of '\0\x01\t \x0b\x7f\r\n\x85') {
      const check = { client: newClient(), target: `/a${char}b` };
      const { status, charged } = await askAfter('', trusting, check);
      if (status === 200) expect(charged).not.toEqual([]);
      else expect(status).toBe(400);
    }
  });
  everyDialect(
    'CVE-2024-47070: in a list of addresses identifies no client, or is refused',
    async (check) => {
      // The address that connected to the proxy is then the last that we know.
      const innerProxy = { ...check, client: INNER_PROXY };
      const cloudflare = { ...check, client: CLOUDFLARE };
      for (const junk of [...JUNK, `${EXEMPT}, a`]) {
        await expectNoEffect(innerProxy, { 'x-forwarded-for': junk });
        await expectNoEffectOrRefusal(cloudflare, { 'cf-connecting-ip': junk });
      }
    },
  );
  test('CVE-2024-47070: in place of the client leaves the peer as the client', async () => {
    for (const junk of JUNK) {
      // The strictest policy applies to NGINX without an address, and to this path anyhow.
      const envoy = { client: newClient(), target: '/strict' };
      await expectNoEffect(envoy, { 'x-headgate-client-ip': junk });
      const nginx = { ...envoy, through: 'nginx' } as const;
      await expectNoEffect(nginx, { 'x-real-ip': junk });
    }
  });
  test('CVE-2024-47070: in place of all addresses leaves the proxy as the client', async () => {
    for (const junk of JUNK) {
      const headers = { 'x-headgate-client-ip': junk, 'x-headgate-peer-ip': junk };
      await expectNoEffect({ client: '127.0.0.1' }, headers);
    }
  });
  test('CVE-2024-47070: in place of a key, user or tenant leaves the address as the client, or is refused', async () => {
    for (const name of ['x-api-key', 'x-user', 'x-tenant']) {
      const check = { client: newClient(), target: '/tenant' };
      await expectNoEffect(check, { [name]: '' });
      for (const odd of [',', 'a,b', 'a, a', 'x'.repeat(9_000)]) {
        const refused = await ask(trusting, { ...check, headers: { [name]: odd } });
        expect(refused.status).toBe(400);
      }
    }
  });
});

describe('paths and methods of proxies', () => {
  test('CVE-2026-47205, CVE-2026-73553: an empty path is counted', async () => {
    for (const target of ['', '?', '?a', '#', '*', ';', '.', '/']) {
      await expectCharged({ client: newClient(), target }, 'default');
      await expectCharged({ client: newClient(), method: 'OPTIONS', target }, 'default');
    }
  });
  test('CVE-2026-73547: CONNECT is refused, or counted if a proxy checks it', async () => {
    for (const target of ['a.example:443', '/envoy', '']) {
      const answer = await exchange(trusting.url, `CONNECT ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
      expect([400, 405]).toContain(statusOf(answer));
      for (const through of ['nginx', 'caddy'] as const) {
        const check = { through, method: 'CONNECT', target, client: newClient() };
        expect((await ask(trusting, check)).charged).toEqual([target ? 'default' : 'strict']);
      }
    }
  });
  test('CVE-2026-47205, CVE-2026-50572: checks that end half-way do no harm', async () => {
    const line = 'POST /envoy/a HTTP/1.1\r\nHost: a\r\n';
    const halves = [line, `${line}\r\n`, `${line}Content-Length: 9\r\n\r\nx`];
    const all = Array.from({ length: 20 }, () => halves).flat();
    await Promise.all(all.map((half) => exchange(trusting.url, half, 1, 1)));
    expect(await ask(trusting, { client: newClient() })).toMatchObject({ left: PLENTY - 1 });
  });
  test('CVE-2026-48068, CVE-2026-48069, CVE-2024-37168, CVE-2026-26330: gRPC on the HTTP port does no harm', async () => {
    const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0';
    expect(statusOf(await exchange(trusting.url, Buffer.from(preface, 'latin1')))).toBe(400);
    const headers = { 'content-type': 'application/grpc', te: 'trailers' };
    for (const service of ['envoy.service.auth.v3.Authorization', 'ratelimit.RateLimitService']) {
      const sent = { method: 'POST', headers, body: Buffer.alloc(100_000, 0xff) };
      const answer = await call(trusting.url, `/${service}/Check`, sent);
      expect(answer.status === 404 || answer.headers['ratelimit-policy']).toBeTruthy();
    }
    expect(await ask(trusting, { client: newClient() })).toMatchObject({ left: PLENTY - 1 });
  });
});

describe('a health check', () => {
  test.each(HEALTH_AGENTS)('GHSA-5hvv-m4w4-gf6v: by %s is counted', (agent) =>
    throughEach((check) => expectNoEffect({ ...check, ...LOGIN }, { 'user-agent': agent })),
  );
  test.each(HEALTH_PATHS)('GHSA-5hvv-m4w4-gf6v: of %s is counted', async (path) => {
    expect((await call(trusting.url, path)).status).toBe(404);
    const headers = { 'user-agent': 'GoogleHC/1.0' };
    await throughEach((check) => expectNoEffect({ ...check, target: path }, headers));
    await expectCharged({ target: path, client: newClient() }, 'default');
  });
});

describe('addresses', () => {
  const leftFor = async (client: string) => (await ask(trusting, { client })).left;
  test('CVE-2026-30827: a thousand mapped addresses are a thousand clients', async () => {
    const lefts = new Set<number>();
    for (let i = 0; i < 1_000; i++) lefts.add(await leftFor(`::ffff:198.18.${i >> 8}.${i & 255}`));
    expect([...lefts]).toEqual([PLENTY - 1]);
    // Each is the same client in another spelling.
    for (const same of ['198.18.0.0', '198.18.3.231', '0:0:0:0:0:FFFF:c612:0001']) {
      expect(await leftFor(same)).toBe(PLENTY - 2);
    }
  });
  test('CVE-2026-30827: a thousand addresses of one /64 are one client', async () => {
    for (let i = 1; i <= 1_000; i++) {
      expect(await leftFor(`2001:db8:0:7:${i.toString(16)}::${i}`)).toBe(PLENTY - i);
    }
    expect(await leftFor('2001:db8:0:8::1')).toBe(PLENTY - 1);
  });
});

describe('answers', () => {
  everyDialect('anubis DENY=200: of denials never have an allowing status', async (check) => {
    const codes = await statuses(7, () => answerTo(trusting, { ...check, target: '/strict' }));
    expect(codes).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect((await ask(trusting, { ...check, client: BLOCKED })).status).toBe(403);
    expect([400, 403]).toContain((await ask(trusting, { ...check, target: '/a%00' })).status);
  });
  everyDialect(
    'GHSA-7r4p-vjf4-gxv4: have all promised headers, whatever the client sent',
    async (check) => {
      const headers = { 'x-ratelimit-limit': '9', ratelimit: 'mine', 'x-ratelimit-policy': 'mine' };
      for (let i = 0; i < 7; i++) {
        const answer = await answerTo(trusting, { ...check, target: '/strict', headers });
        expect(answer.headers).toMatchObject({
          'x-ratelimit-limit': '5',
          'x-ratelimit-remaining': String(Math.max(0, 4 - i)),
          'x-ratelimit-reset': expect.stringMatching(/^\d{10}$/),
          ratelimit: expect.stringMatching(/^"strict";r=\d;t=\d+$/),
          'ratelimit-policy': '"strict";q=5;w=3600',
          'cache-control': 'no-store',
        });
        expect(answer.headers['x-ratelimit-policy']).toBe(i < 5 ? undefined : 'strict');
      }
    },
  );
  test('nodejs/node#20256: keep an idle connection for longer than any proxy does', async () => {
    const { headers } = await answerTo(trusting, { client: newClient() });
    const [, seconds] = /timeout=(\d+)/.exec(String(headers['keep-alive'])) ?? [];
    expect(Number(seconds)).toBeGreaterThan(3_600);
  });
});

describe('the denial cache', () => {
  testWithRedis('GHSA-4mq7-pvjg-xp2r: holds a denial for one client, policy and cost', async () => {
    await using redis = await startRedis();
    const costly = withKeyIn('x-api-key').replace('cost: 1', 'cost: 3');
    await using gateway = await startWith(costly, {
      ...PATIENT,
      HEADGATE_REDIS_URL: redis.url,
    });
    const strict = { client: newClient(), target: '/strict' };
    const status = async (check: Check) => (await ask(gateway, check)).status;
    expect(await statuses(4, () => answerTo(gateway, strict))).toEqual([200, 429, 429, 429]);
    const { body } = await call(gateway.opsUrl, '/metrics');
    expect(body).toMatch(/^headgate_remembered_denials_total [12]$/m);
    expect(await status({ ...strict, through: 'nginx' })).toBe(429);
    expect(await status({ ...strict, target: '/public/a' })).toBe(200);
    expect(await status({ ...strict, client: newClient() })).toBe(200);
    expect(await status({ ...strict, headers: { 'x-api-key': LISTED_KEY } })).toBe(200);
    // A user whose name is the denied address.
    const namesake = { 'x-user': strict.client };
    expect(await status({ ...strict, client: newClient(), headers: namesake })).toBe(200);
    expect(await status(strict)).toBe(429);
    gateway.replacePolicies(withKeyIn('x-api-key'));
    await gateway.printed(/policies_loaded/);
    expect(await status(strict)).toBe(200);
  });
});

describe('faults without an advisory', () => {
  test.each<[string, (i: number) => boolean]>([
    ['random unknown keys', () => true],
    ['alternately with a key and without', (i) => i % 2 === 0],
    ['first with keys, then without', (i) => i < 20],
    ['first without a key, then with keys', (i) => i >= 20],
  ])('%s: all requests of the address together get twice its limit', async (_, hasKey) => {
    const check = { client: newClient(), target: '/strict' };
    const codes = await statuses(40, (i) =>
      answerTo(trusting, {
        ...check,
        headers: { 'x-api-key': hasKey(i) ? `key ${i}` : undefined },
      }),
    );
    expect(codes.filter((code) => code === 200)).toHaveLength(10);
  });
  everyDialect('CF-Connecting-IP is used only from Cloudflare’s networks', async (check) => {
    const claim = { 'cf-connecting-ip': EXEMPT };
    await expectNoEffect(check, claim);
    await expectNoEffect(check, { ...claim, 'x-forwarded-for': CLOUDFLARE });
    await expectNoEffect({ ...check, client: '173.245.64.1' }, claim);
    await expectNoEffect({ ...check, client: '127.0.0.1' }, claim);
    const real = { ...check, client: CLOUDFLARE, headers: claim };
    expect(await ask(trusting, real)).toMatchObject({ status: 200, charged: [] });
  });
  everyDialect('neither a header nor a parameter overrides the method', async (check) => {
    for (const name of words('x-http-method-override x-http-method x-method-override x-method')) {
      await expectNoEffect({ ...check, ...LOGIN }, { [name]: 'GET' });
    }
    const target = `${LOGIN.target}?_method=GET&method=GET&X-HTTP-Method-Override=GET`;
    await expectCharged({ ...check, ...LOGIN, target }, 'login');
  });
  everyDialect('HEAD and GET share a count', async (check) => {
    for (const [i, method] of ['GET', 'HEAD', 'GET', 'HEAD'].entries()) {
      const search = await ask(trusting, { ...check, method, target: '/api/search' });
      expect(search).toEqual({ status: 200, charged: ['search'], left: PLENTY - 1 - i });
    }
  });
  everyDialect('a CORS preflight is counted', async (check) => {
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'POST' };
    const preflight = await ask(trusting, { ...check, ...LOGIN, method: 'OPTIONS', headers });
    expect(preflight).toEqual({ status: 200, charged: ['default'], left: PLENTY - 1 });
  });
  test.each(['websocket', 'h2c'])('an upgrade to %s is counted', (protocol) =>
    throughEach(async (check) => {
      const lines = `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABk\r\n`;
      const search = await askAfter(lines, trusting, { ...check, target: '/api/search' });
      expect(search).toEqual({ status: 200, charged: ['search'], left: PLENTY - 1 });
    }),
  );
});
