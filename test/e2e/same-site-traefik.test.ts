/** A site of Traefik answers as before once its entry point asks headgate. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { temporaryFile } from '../support/temporary.ts';
import { realTraefik } from '../support/traefik.ts';
import { replayTraefik } from '../support/traefik-replay.ts';
import { type ComparedSite, compareSites, visitSite } from './support/site-comparison.ts';
import { siteRequest, siteRequests } from './support/site-requests.ts';
import { startVariedApplication } from './support/varied-application.ts';

const POLICIES = `version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [100000/1h] }
policies:
  - { name: limited, match: { path: "/limited/*" }, limits: [1/1h] }
`;
/** In place of the check: a middleware that does nothing. */
const WITHOUT = {
  'chain: { middlewares: [headgate-request, headgate-answer, headgate-application] }':
    'headers: { customRequestHeaders: { X-Nothing: "" } }',
};
const real = await realTraefik();
const TRAEFIKS = [
  // The replay has no tunnels.
  {
    name: 'a replay of Traefik',
    start: replayTraefik,
    requests: siteRequests().filter(({ waits }) => waits === undefined),
  },
  ...(real === undefined ? [] : [{ name: 'Traefik', start: real, requests: siteRequests() }]),
];

describe.each(TRAEFIKS)('a site of $name', ({ start, requests }) => {
  const open = new AsyncDisposableStack();
  let gateway: Gateway;
  let plain: ComparedSite;
  let guarded: ComparedSite;

  async function startSite(changes: Readonly<Record<string, string>>): Promise<ComparedSite> {
    const application = open.use(await startVariedApplication());
    const ports = { application: application.port, headgate: gateway.port };
    const { url } = open.use(await start({ ...ports, changes }));
    return { url, application };
  }

  beforeAll(async () => {
    const file = temporaryFile(open, POLICIES);
    gateway = open.use(await startGateway({ HEADGATE_POLICIES: file }));
    plain = await startSite(WITHOUT);
    guarded = await startSite({});
  });

  afterAll(() => open.disposeAsync());

  test('answers as before', async () => {
    expect(await compareSites(plain, guarded, requests)).toEqual([]);
  });

  test('denies what is over its limit with a 429, and answers the rest as before', async () => {
    const denied = siteRequest('GET /limited/page');
    await visitSite(guarded, denied);
    for (const request of [
      denied,
      siteRequest('HEAD /limited/page'),
      siteRequest('POST /limited/upload', { body: 'a small body' }),
    ]) {
      const { answer, received } = await visitSite(guarded, request);
      expect(answer.status, request.name).toBe('429');
      expect(answer.headers).toContain('content-type: application/json');
      expect(received, request.name).toEqual([]);
    }
    expect(await compareSites(plain, guarded, requests)).toEqual([]);
  });

  test('answers as before while the gateway is down', async () => {
    await gateway.stop();
    expect(await compareSites(plain, guarded, requests)).toEqual([]);
  });
});
