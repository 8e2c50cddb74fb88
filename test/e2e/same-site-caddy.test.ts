/** A varied site of Caddy behaves as before once it imports the parts of headgate. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { call } from '../support/http.ts';
import { freePort } from '../support/ports.ts';
import { CADDIES } from '../support/proxies.ts';
import { temporaryFile } from '../support/temporary.ts';
import { type CaddyProgram, type CaddySite, startCaddySite } from './support/caddy-site.ts';
import { type ComparedSite, compareSites, visitSite } from './support/site-comparison.ts';
import { type SiteRequest, siteRequest, siteRequests } from './support/site-requests.ts';
import { startVariedApplication } from './support/varied-application.ts';

const POLICIES = `
version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [1000000/1h] }
policies:
  - { name: once, match: { path: /:where/once }, limits: [1/1h] }
  - { name: careful, match: { method: PATCH, path: /api/careful }, limits: [9/1h], on_gateway_failure: deny }
`;
const USER = 'a-user $2b$04$abcdefghijklmnopqrstuuyvPXIbu7xe6/CED2DzX8z6Si09MlzlW';

/** The site with its lines; CHECK stands where the part goes in the site. */
const OPTIONS = `
	servers {
		timeouts {
			read_body 60s
		}
	}`;
const PAGES = `
	handle_errors {
		header X-Page error
		rewrite * /error.txt
		file_server
	}`;
const HANDLERS = `
	root * FOLDER
	encode gzip
	header X-Site caddy
	header /thing -Vary
	redir /moved /elsewhere 308
	rewrite /old/* /api/thing
	uri /prefixed/* strip_prefix /prefixed
	respond /health "ok"
	respond /nothing 404
	error /broken "broken" 500
	basicauth /private/* {
		${USER}
	}
	request_header X-From-Site yes
	@tablet header User-Agent *tablet*
	respond @tablet "for a tablet" 203
	vars /marked mark yes
	templates /page.html
	handle /api/* {
		reverse_proxy APPLICATION {
			header_up X-Api yes
			header_down X-Answered yes
		}
	}
	handle_path /strip/* {
		reverse_proxy APPLICATION
	}
	handle /private/* {
		reverse_proxy APPLICATION
	}
	handle /routed/* {
		route {
			rewrite * /api/routed
			reverse_proxy APPLICATION
		}
	}
	handle /spa/* {
		try_files {path} /index.html
		file_server
	}
	reverse_proxy /direct/* APPLICATION
	reverse_proxy /gone 127.0.0.1:1
	file_server
`;
const FILES = {
  'index.html': '<!doctype html><title>index</title>\n'.repeat(50),
  'page.html': '{{.Req.Method}} {{placeholder "http.vars.mark"}} {{.Req.Header.Get "X-From-Site"}}',
  'a.txt': 'a file\n',
  'error.txt': 'the page of the site',
};

const PLACES: Readonly<Record<string, string>> = {
  'above everything': `import headgate\n${PAGES}${HANDLERS}`,
  'below everything': `${PAGES}${HANDLERS}\nimport headgate`,
  'with its other headers removed': `${HANDLERS}\nimport headgate\nimport headgate_headers${PAGES}`,
  'in some of its blocks':
    PAGES +
    HANDLERS.replaceAll(
      /((?:handle|handle_path) \/(?:api|strip|private|routed|spa)\/\* \{)/g,
      '$1\nimport headgate',
    ),
};

const REQUESTS = [
  ...['/api', '/strip', '/direct'].flatMap((base) => siteRequests(base)),
  ...[
    ...['/', '/a.txt', '/index.html', '/page.html', '/marked', '/missing', '/health', '/nothing'],
    ...['/broken', '/moved', '/old/x', '/prefixed/api/thing', '/routed/x', '/spa/x/y', '/gone'],
    ...['/a%2Etxt', '//a.txt', '/../a.txt', '/%zz', '/100%', '/private/thing', '/private'],
  ].flatMap((path) => [siteRequest(`GET ${path}`), siteRequest(`POST ${path}`, { body: 'x' })]),
  siteRequest('HEAD /a.txt'),
  siteRequest('GET /a.txt', { headers: ['Range: bytes=2-3'] }),
  siteRequest('GET /a.txt', { headers: ['If-Modified-Since: Mon, 01 Jun 2099 10:00:00 GMT'] }),
  siteRequest('GET /index.html', { headers: ['Accept-Encoding: gzip'] }),
  siteRequest('GET /health', { headers: ['User-Agent: a tablet'] }),
  ...['YS11c2VyOnB3', 'YS11c2VyOndyb25n', 'bm9ib2R5'].map((credentials) =>
    siteRequest('GET /private/thing', { headers: [`Authorization: Basic ${credentials}`] }),
  ),
  siteRequest('GET /api/thing', {
    headers: ['X-Forwarded-Port: 443', 'X_Under_Score: 1', 'X-Forwarded-Prefix: /x', 'X.Dot: 1'],
  }),
];
const FEW_REQUESTS = REQUESTS.filter((_, i) => i % 11 === 0);
const UPLOAD = { body: Buffer.alloc(1_000_000), headers: ['Expect: 100-continue'] };
const DENIED = [
  siteRequest('GET /api/once'),
  siteRequest('POST /strip/once', { ...UPLOAD, waits: 'continue' }),
  siteRequest('DELETE /routed/../api/once'),
  siteRequest('PUT /spa/once', { body: 'small' }),
];
/** Besides those of headgate: the headers of the site that it sets before any handler. */
const DENIAL = [
  'cache-control: no-store',
  'connection: close',
  'content-type: application/json',
  'x-site: caddy',
];
const VARIES = /^(content-length|retry-after|server|via):/;
/** What `headgate_headers` removes. */
const OTHER_HEADERS = ['x-forwarded-port', 'x_under_score', 'x-forwarded-prefix', 'x.dot'];

const stack = new AsyncDisposableStack();
let gateway: Gateway;
let silent: number;

beforeAll(async () => {
  const policies = temporaryFile(stack, POLICIES);
  gateway = stack.use(await startGateway({ HEADGATE_POLICIES: policies }));
  // It accepts connections and answers nothing, as a gateway that hangs.
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => void server.close());
  silent = (server.address() as AddressInfo).port;
});
afterAll(() => stack.disposeAsync());

async function start(site: Omit<CaddySite, 'application' | 'policies'>) {
  const application = stack.use(await startVariedApplication());
  const caddy = stack.use(
    await startCaddySite({
      files: FILES,
      ...site,
      policies: POLICIES,
      application: application.port,
    }),
  );
  return { url: caddy.url, application };
}

function plainSite(program: CaddyProgram): Promise<ComparedSite> {
  const caddyfile = `{\nadmin off\nauto_https off${OPTIONS}\n}\nSITE {${PAGES}${HANDLERS}}`;
  return start({ program, headgate: 1, caddyfile });
}

function guardedSite(
  program: CaddyProgram,
  place: string,
  headgate: number,
  hasShippedTimeouts = false,
): Promise<ComparedSite> {
  const options = `admin off\nauto_https off${OPTIONS}\nimport headgate-global.caddy`;
  const caddyfile = `{\n${options}\n}\nimport headgate.caddy\nSITE {\n${PLACES[place]}\n}`;
  return start({ program, headgate, caddyfile, hasShippedTimeouts });
}

describe.each(CADDIES)('%s', (program) => {
  const isHere = inject('programs')[program] !== undefined;
  let plain: ComparedSite;
  beforeAll(async () => {
    if (isHere) plain = await plainSite(program);
  });

  describe.each(Object.keys(PLACES))('with the part %s', (place) => {
    const options = { ignored: place.includes('headers') ? OTHER_HEADERS : [] };

    test.skipIf(!isHere)('is the same, also for a client that is denied elsewhere', async () => {
      const guarded = await guardedSite(program, place, gateway.port);
      expect(await compareSites(plain, guarded, REQUESTS, options)).toEqual([]);
      await visitSite(guarded, DENIED[0] as SiteRequest);
      const answers = await Promise.all(
        DENIED.map(async (request) => (await visitSite(guarded, request)).answer),
      );
      for (const { status, headers, body } of answers) {
        expect(status).toBe('429');
        expect(JSON.parse(body)).toMatchObject({ policy: 'once' });
        expect(new Set(headers).size).toBe(headers.length);
        expect(headers.filter((each) => !VARIES.test(each))).toEqual(DENIAL);
      }
      expect(guarded.application.received).toEqual([]);
      expect(await compareSites(plain, guarded, REQUESTS, options)).toEqual([]);
    });

    test.skipIf(!isHere)('is the same while the gateway is down', async () => {
      const guarded = await guardedSite(program, place, await freePort());
      expect(await compareSites(plain, guarded, REQUESTS, options)).toEqual([]);
      await expectMarked(guarded);
    });

    test.skipIf(!isHere)('is the same while the gateway hangs', async () => {
      const guarded = await guardedSite(program, place, silent, true);
      expect(await compareSites(plain, guarded, FEW_REQUESTS, options)).toEqual([]);
      await expectMarked(guarded);
    });
  });
});

/** Requests that pass without a check are marked, and those of a policy with `on_gateway_failure: deny` do not pass. */
async function expectMarked({ url }: ComparedSite) {
  const passed = await call(url, '/api/thing');
  expect([passed.status, passed.headers['x-ratelimit-bypass']]).toEqual([
    ...[200, 'gateway-unavailable'],
  ]);
  const refused = await call(url, '/api/careful', { method: 'PATCH' });
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
  expect(JSON.parse(refused.body)).toMatchObject({ error: 'gateway_unavailable' });
}
