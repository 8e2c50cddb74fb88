import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { rewriteFindings } from '../../../../../src/cli/proxy-files/read/rewrites.ts';
import {
  otherTraefikFile,
  readTraefik,
} from '../../../../../src/cli/proxy-files/read/traefik/reader.ts';
import { routingsIn } from '../../../../../src/cli/proxy-files/read/traefik/routers.ts';
import {
  traefikRoutes,
  traefikStart,
} from '../../../../../src/cli/proxy-files/read/traefik/routes.ts';
import { uncheckedRoutes } from '../../../../../src/cli/proxy-files/read/unchecked-paths.ts';
import { yamlDocument } from '../../../../../src/cli/proxy-files/read/yaml.ts';
import { validFile } from '../../../../support/proxy-config.ts';

const SHIPPED = readFileSync(
  new URL('../../../../../deploy/traefik/dynamic.yaml', import.meta.url),
  'utf8',
);
const POLICIES = validFile(`version: 1
identity: { sources: [ip] }
default: { limits: [1000/1h] }
policies:
  - { name: login, match: { method: POST, path: /login }, limits: [5/5min] }
  - { name: api-login, match: { method: POST, path: /api/login }, limits: [5/5min] }
  - { name: pay, match: { path: /app/pay }, limits: [5/5min] }
`);

interface Http {
  readonly routers?: string;
  readonly middlewares?: string;
  readonly services?: string;
  readonly tcp?: string;
}
const file = ({ routers = '', middlewares = '', services = '', tcp = '' }: Http) => `http:
  routers:
    application: { entryPoints: [web], rule: "PathPrefix(\`/\`)", middlewares: [headgate], service: application }
${routers.replaceAll(/^/gm, '    ')}
  middlewares:
    headgate: { chain: { middlewares: [headgate-request, headgate-answer] } }
    headgate-request: { headers: { customRequestHeaders: { X-Forwarded-Method: "" } } }
    headgate-answer: { forwardAuth: { address: "http://127.0.0.1:8082/traefik" } }
${middlewares.replaceAll(/^/gm, '    ')}
  services:
    application: { loadBalancer: { servers: [{ url: "http://127.0.0.1:3000" }] } }
${services.replaceAll(/^/gm, '    ')}
${tcp}`;

const read = (text: string) =>
  readTraefik({ file: 'dynamic.yaml', path: 'dynamic.yaml', text, policies: undefined }) ?? {};
const unchecked = (text: string) =>
  uncheckedRoutes(read(text).routes ?? []).map(({ message }) =>
    message.replace(/ without asking.*/, ''),
  );
const rewritten = (text: string) =>
  rewriteFindings(read(text).rewrites ?? [], POLICIES).map(({ message }) => message);

test('finds nothing in the shipped file', () => {
  expect(unchecked(SHIPPED)).toEqual([]);
  expect(rewritten(SHIPPED)).toEqual([]);
});

describe('another way to an application', () => {
  const other = (service: string, more = '') =>
    `other: { entryPoints: [internal], rule: "Host(\`b\`)", service: ${service}${more} }`;
  test.each<[string, Http]>([
    ['a router to the same service', { routers: other('application') }],
    ['that names the provider', { routers: other('application@file') }],
    [
      'a service with the same server',
      {
        routers: other('b'),
        services: 'b: { loadBalancer: { servers: [{ url: "http://LOCALHOST:3000/" }] } }',
      },
    ],
    [
      'a weighted service',
      { routers: other('w'), services: 'w: { weighted: { services: [{ name: application }] } }' },
    ],
    [
      'a failover to it',
      {
        routers: other('f'),
        services: 'f: { failover: { service: f, fallback: application } }',
      },
    ],
  ])('is %s', (_, http) => {
    expect(unchecked(file(http))).toEqual(['the router other passes requests to 127.0.0.1:3000']);
  });

  test('is a TCP router, also if the entry point of HTTP asks headgate', () => {
    const tcp = `tcp:
  routers:
    raw: { rule: "HostSNI(\`*\`)", service: raw }
  services:
    raw: { loadBalancer: { servers: [{ address: "127.0.0.1:3000" }] } }
`;
    const expected = ['the TCP router raw passes requests to 127.0.0.1:3000'];
    expect(unchecked(file({ tcp }))).toEqual(expected);
    expect(unchecked(file({ tcp }).replace('middlewares: [headgate],', ''))).toEqual(expected);
  });

  test('is a router of an entry point that does not ask headgate', () => {
    const routers = `${other('application')}\nusual: { rule: "Path(\`/u\`)", service: application }`;
    const text = file({ routers }).replace('middlewares: [headgate], ', '');
    const routes = (entryPoints: string) => {
      const start = `entryPoints:\n  ${entryPoints}\nproviders: { file: { filename: d.yaml } }`;
      return uncheckedRoutes(
        traefikRoutes(routingsIn(yamlDocument(text), 'd.yaml'), traefikStart(yamlDocument(start))),
      ).map(({ message }) => message.split(' passes')[0]);
    };
    const asks = (name: string) => `${name}: { http: { middlewares: [headgate@file] } }`;
    expect(routes(`${asks('web')}\n  internal: {}`)).toEqual([
      'the router other',
      'the router usual',
    ]);
    expect(routes(`${asks('web').replace('{', '{ asDefault: true,')}\n  internal: {}`)).toEqual([
      'the router other',
    ]);
    expect(routes(`${asks('web')}\n  ${asks('internal')}`)).toEqual([]);
  });

  test('is a router to a service of another provider', () => {
    const text = file({ routers: other('app@docker') }).replace(
      'service: application }',
      'service: app@docker }',
    );
    expect(unchecked(text)).toEqual(['the router other passes requests to app@docker']);
    const routersOnly = text.replace(/ {2}services:.*/s, '');
    expect(unchecked(routersOnly)).toEqual(['the router other passes requests to app@docker']);
  });

  test.each<[string, Http]>([
    ['asks headgate', { routers: other('application', ', middlewares: [auth, headgate@file]') }],
    [
      'asks headgate and another authorizer',
      {
        routers: other('application', ', middlewares: [both]'),
        middlewares:
          'both: { chain: { middlewares: [sso, headgate] } }\nsso: { forwardAuth: { address: "http://sso/auth" } }',
      },
    ],
    [
      'leads to another application',
      {
        routers: other('b'),
        services: 'b: { loadBalancer: { servers: [{ url: "http://127.0.0.1:3001" }] } }',
      },
    ],
    ['leads to a service of Traefik', { routers: other('api@internal') }],
  ])('is not a router that %s', (_, http) => {
    expect(unchecked(file(http))).toEqual([]);
  });
});

describe('a rewrite after the check', () => {
  const with_ = (rule: string, middlewares: string, definition: string) =>
    file({
      routers: `old: { entryPoints: [web], rule: "${rule}", middlewares: ${middlewares}, service: application }`,
      middlewares: `move: ${definition}`,
    });
  const problems = [
    ['PathPrefix(`/old`)', '{ replacePath: { path: /login } }', 'replacePath', 'policy login'],
    [
      'PathPrefix(`/old`)',
      '{ replacePathRegex: { regex: "^/old/(.*)", replacement: "/api/$1" } }',
      'replacePathRegex',
      'policy api-login',
    ],
    [
      'PathPrefix(`/old`)',
      '{ stripPrefix: { prefixes: [/old] } }',
      'stripPrefix',
      'policies login, api-login, pay',
    ],
    ['Host(`api.example`)', '{ addPrefix: { prefix: /app } }', 'addPrefix', 'policy pay'],
  ] as const;

  test.each(problems)('%s %s', (rule, definition, kind, names) => {
    const expected = `${kind} of the middleware move changes the path after headgate has checked it, so ${names} can be avoided`;
    expect(rewritten(with_(rule, '[headgate, move]', definition))).toEqual([expected]);
    expect(rewritten(with_(rule, '[move, headgate]', definition))).toEqual([]);
    const atEntryPoint = with_(rule, '[move]', definition).replace('middlewares: [headgate], ', '');
    expect(rewritten(atEntryPoint)).toEqual([expected]);
  });

  test('is none that matters if policies name the path that clients send', () => {
    const strip = '{ stripPrefix: { prefixes: [/api] } }';
    expect(
      rewritten(
        file({
          routers:
            'api: { entryPoints: [web], rule: "PathPrefix(`/api`)", middlewares: [headgate, move], service: api }',
          middlewares: `move: ${strip}`,
          services: 'api: { loadBalancer: { servers: [{ url: "http://127.0.0.1:3001" }] } }',
        }),
      ),
    ).toEqual([]);
  });
});

test.each([
  'http:',
  'http: { routers: }',
  'http: { routers: [], middlewares: 1, services: "a" }',
  'http: { routers: { a: { service: 1, middlewares: b, rule: [] } }, services: { a: } }',
  'http: { routers: { a: { service: a } }, services: { a: { weighted: { services: [{ name: a }, 1] } } } }',
  'http: { routers: { a: { middlewares: [c] } }, middlewares: { c: { chain: { middlewares: [c, c] } } } }',
])('reads %s', (text) => {
  expect(unchecked(text)).toEqual([]);
  expect(rewritten(text)).toEqual([]);
});

test('reads templates of Go, and names files that it does not read', () => {
  const router = 'other: { rule: "Host(`{{ env "B" }}`)", service: application }';
  const text = file({ routers: `${router}\n{{- range until 3 }}\n{{ end -}}` });
  expect(read(text).facts?.proxy).toBe('traefik');
  expect(unchecked(text)).toHaveLength(1);
  const toml =
    '[http.middlewares.headgate.forwardAuth]\n  address = "http://127.0.0.1:8082/traefik"';
  expect(() => read(toml).facts).toThrow('is TOML');
  expect(otherTraefikFile('labels: ["traefik.http.routers.a.middlewares=headgate@file"]')).toMatch(
    /^has labels of Traefik/,
  );
  expect(otherTraefikFile('entryPoints:\n  web: {}')).toMatch(/^is the file with which/);
  expect(otherTraefikFile('http: {}')).toBeUndefined();
});

describe('a rule', () => {
  const choose = (rule: string, path: string) => {
    const router = `other: { entryPoints: [web], rule: ${JSON.stringify(rule)}, service: application }`;
    const { sites = [] } = read(file({ routers: router }));
    return sites.find(({ hosts }) => hosts?.includes('b.example'))?.choose(path)?.what;
  };

  test.each([
    ['Host(`B.example`)', 'the router other'],
    ['Host(`b.example`) && Path(`/y`)', 'the router application'],
    ['Host(`b.example`) && (Path(`/x`) || PathPrefix(`/y`))', 'the router other'],
    [
      'Host(`b.example`) && Path(`/x`) || Host("b.example") && PathPrefix("/y")',
      'the router other',
    ],
    ['Host(`b.example`) || Host(`b.example`) && Path(`/y`)', 'the router other'],
    ['Host(`b.example`) && Method(`GET`)', undefined],
    ['Host(`b.example`) && !Path(`/x`)', undefined],
    ['Host(`b.example`) || Host(`c.example`)', undefined],
  ])('%s', (rule, what) => {
    expect(choose(rule, '/y/1')).toBe(what);
  });
});
