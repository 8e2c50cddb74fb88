/** A site of NGINX as it was and with the parts of headgate, and what must be the same. */
import { expect } from 'vitest';
import { startGateway } from '../../support/gateway.ts';
import { startNginxSite } from '../../support/nginx-site.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { compareSites, visitSite } from './site-comparison.ts';
import { type SiteRequest, siteRequest } from './site-requests.ts';
import { startVariedApplication } from './varied-application.ts';

const POLICIES = `
version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [1000000/1h] }
policies:
  - { name: denied, match: { path: /denied/* }, limits: [1/1h] }
  - { name: closed, match: { method: PUT, path: /closed/* }, limits: [1000000/1h], on_gateway_failure: deny }`;

const FILES = {
  'sorry.html': 'the page of the site for errors\n',
  'index.html': 'the front page\n',
  'style.css': 'p { margin: 0 }\n',
  'front.html': 'the front controller\n',
  passwords: 'user:{PLAIN}pw\n',
};
export const WITH_PASSWORD = 'Authorization: Basic dXNlcjpwdw==';
export const get = (path: string, ...headers: string[]) => siteRequest(`GET ${path}`, { headers });
const DENIED = [
  get('/denied/x.css', WITH_PASSWORD),
  siteRequest('POST /denied/x.css', { body: 'a=1', headers: [WITH_PASSWORD] }),
];

interface More {
  /** The block `http` of the site as it was, if it differs in more than the includes. */
  readonly plain?: string;
  /** Other files of the folder, by name. */
  readonly files?: Readonly<Record<string, string>>;
}

/** The site as it was, and with headgate. `http` is the block with the includes that the quickstart names. */
export async function startSites(http: string, { plain: before = http, files = {} }: More = {}) {
  await using parts = new AsyncDisposableStack();
  const file = temporaryFile(parts, POLICIES);
  const gateway = parts.use(await startGateway({ HEADGATE_POLICIES: file }));
  const start = async (text: string) => {
    const application = parts.use(await startVariedApplication());
    const behind = { headgate: gateway.port, application: application.port };
    const all = { ...FILES, ...files };
    const nginx = await startNginxSite({ policies: POLICIES, http: text, files: all, ...behind });
    return { url: parts.use(nginx).url, application };
  };
  const plain = await start(before.replaceAll(/include headgate-\w+[.]conf;/g, ''));
  const guarded = await start(http);
  const started = parts.move();
  return {
    gateway,
    guarded,
    differences: (requests: readonly SiteRequest[]) => compareSites(plain, guarded, requests),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

type Sites = Awaited<ReturnType<typeof startSites>>;

/** Each request gets a right 429, and does not reach the application. */
export async function expectDenials(
  { guarded }: Sites,
  requests: readonly SiteRequest[],
): Promise<void> {
  await visitSite(guarded, get('/denied/first.css', WITH_PASSWORD));
  for (const request of requests) {
    const { answer, received } = await visitSite(guarded, request);
    const { status, headers, body } = answer;
    expect({ request: request.name, received, status, headers }).toEqual({
      request: request.name,
      received: [],
      status: expect.stringMatching(/^(100 )?429$/),
      headers: expect.arrayContaining([expect.stringMatching(/^retry-after: \d+$/)]),
    });
    const types = headers.filter((header) => header.startsWith('content-type:'));
    expect(types, request.name).toEqual(['content-type: application/json']);
    if (!request.head.startsWith('HEAD'))
      expect(JSON.parse(body)).toMatchObject({ error: 'rate_limit_exceeded', policy: 'denied' });
  }
}

/** Nothing differs while the gateway is up, but for denials, nor while it is down, but for refusals. */
export async function expectSameSite(
  http: string,
  requests: readonly SiteRequest[],
  more?: More,
): Promise<void> {
  await using sites = await startSites(http, more);
  expect(await sites.differences(requests)).toEqual([]);
  await expectDenials(sites, DENIED);
  expect(await sites.differences(requests)).toEqual([]);
  await sites.gateway.stop();
  expect(await sites.differences([...requests, get('/denied/y.css')])).toEqual([]);
  const refused = siteRequest('PUT /closed/x.css', { body: 'a=1', headers: [WITH_PASSWORD] });
  const { answer, received } = await visitSite(sites.guarded, refused);
  expect([answer.status, received]).toEqual(['503', []]);
  expect(JSON.parse(answer.body)).toMatchObject({ error: 'gateway_unavailable' });
}

/** The site has this header everywhere, so its locations repeat it beside the part. */
export const CHECK = 'include headgate-location.conf; add_header X-Site-Path $site_path always;';
export const PASS = `${CHECK} proxy_pass APPLICATION;`;

/** Lines of the block `server`, and of the block `http`. */
export function siteWith(server: string, http = ''): string {
  return `
${http}
include headgate-http.conf;
server {
  listen PORT;
  include headgate-server.conf;
  root .;
  set $site_path $uri;
  add_header X-Site-Path $site_path always;
  ${server}
  location / { ${PASS} }
  location = /sorry.html { internal; }
  location = /front.html { ${PASS} }
}`;
}
