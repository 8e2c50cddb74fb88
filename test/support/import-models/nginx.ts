import type { Random } from '../random.ts';
import { isBelow, type Model, type ModelRequest, maybe, PATHS } from './model.ts';

interface Location {
  readonly id: string;
  readonly sign: '' | '=' | '^~' | '~';
  readonly path: string;
  readonly limit: number | undefined;
  readonly goesOn: boolean;
}

interface Server {
  readonly id: string;
  readonly names: readonly string[];
  readonly isDefault: boolean;
  readonly limit: number | undefined;
  /** The limit of `location @app`. */
  readonly app: number | undefined;
  readonly locations: readonly Location[];
}

/** Those that a policy file can say, and three that it can only say with more paths, or not at all. */
const EXPRESSIONS = [
  '^/shop(/|$)',
  '^/(?:login|api)/me$',
  '^/api/v[0-9](/|$)',
  '^/shop/v.$',
  '/me$',
];

export interface NginxModel extends Model {
  /** The ids of the server, and of the locations that a request comes to. */
  wayOf(request: ModelRequest): readonly string[];
  /** The same servers and locations, which answer their ids in place of what they limit. */
  readonly named: string;
}

export function nginxModel(random: Random): NginxModel {
  let number = 1;
  const limit = (chance: number) => maybe(random, chance, () => number++ * 10 + random.below(10));
  const whole = limit(0.3);
  const names = [['a.example.com'], ['b.example.com'], ['*.example.com', 'example.com']];
  const count = 1 + random.below(3);
  const first = random.below(count);
  const hasDefault = random.next() < 0.5;
  const servers = names.slice(0, count).map(
    (each, i): Server => ({
      ...{ id: `s${i}`, names: each, isDefault: hasDefault && i === first },
      ...{ limit: limit(0.3), app: limit(0.6), locations: locationsOf(random, `s${i}`, limit) },
    }),
  );
  const wayOf = (request: ModelRequest) => ways(servers, request).map(({ id }) => id);
  return {
    text: textOf(servers, whole),
    named: servers.map(namedServer).join('\n'),
    wayOf,
    limitsOf: (request) => {
      const [server, ...locations] = ways(servers, request);
      const around = server?.limit ?? whole;
      const inside = locations.map((each) => each.limit ?? around);
      const found = (inside.length === 0 ? [around] : inside).find((each) => each !== undefined);
      return [found === undefined ? [] : [found]];
    },
    namedFor: ({ host, path }) => {
      const server = serverOf(servers, host);
      const location = server && chosen(server.locations, path);
      return location?.path === '/me$' ? 'location ~ /me$: ' : undefined;
    },
    isSayable: servers.every(({ locations }) =>
      locations.every(
        ({ sign, path, goesOn }) => !goesOn && (sign !== '~' || EXPRESSIONS.indexOf(path) < 2),
      ),
    ),
  };
}

function locationsOf(
  random: Random,
  id: string,
  limit: (chance: number) => number | undefined,
): Location[] {
  const all = Array.from({ length: random.below(6) }, (_, i): Location => {
    const sign = random.oneOf(['', '', '', '=', '^~', '~'] as const);
    const path = random.oneOf(sign === '~' ? EXPRESSIONS : PATHS);
    return { id: `${id}l${i}`, sign, path, limit: limit(0.5), goesOn: random.next() < 0.15 };
  });
  // NGINX refuses two locations of one name. A prefix is the same with ^~ and without.
  const key = ({ sign, path }: Location) => `${sign === '^~' ? '' : sign} ${path}`;
  return [...new Map(all.map((each) => [key(each), each])).values()];
}

interface Step {
  readonly id: string;
  readonly limit: number | undefined;
}

function serverOf(servers: readonly Server[], host: string): Server | undefined {
  return (
    servers.find(({ names }) => names.includes(host)) ??
    servers.find(({ names }) =>
      names.some((name) => name.startsWith('*') && host.endsWith(name.slice(1))),
    ) ??
    servers.find(({ isDefault }) => isDefault) ??
    servers[0]
  );
}

function ways(servers: readonly Server[], { host, path }: ModelRequest): Step[] {
  const server = serverOf(servers, host);
  if (server === undefined) return [];
  const location = chosen(server.locations, path);
  if (location === undefined) return [server];
  const app = { id: `${server.id}app`, limit: server.app };
  return location.goesOn ? [server, location, app] : [server, location];
}

function chosen(locations: readonly Location[], path: string): Location | undefined {
  const exact = locations.find((each) => each.sign === '=' && each.path === path);
  if (exact !== undefined) return exact;
  const [prefix] = locations
    .filter((each) => (each.sign === '' || each.sign === '^~') && isBelow(path, each.path))
    .sort((a, b) => b.path.length - a.path.length);
  if (prefix?.sign === '^~') return prefix;
  return locations.find((each) => each.sign === '~' && new RegExp(each.path).test(path)) ?? prefix;
}

function textOf(servers: readonly Server[], whole: number | undefined): string {
  const limits = [
    whole,
    ...servers.flatMap(({ limit, app, locations }) => [
      limit,
      app,
      ...locations.map((each) => each.limit),
    ]),
  ];
  const zones = limits
    .filter((each) => each !== undefined)
    .map((each) => `limit_req_zone $binary_remote_addr zone=z${each}:1m rate=${each}r/m;`);
  const line = (limit: number | undefined) =>
    limit === undefined ? '' : `limit_req zone=z${limit} burst=${limit} nodelay;`;
  const all = servers.map((server) => {
    const { locations, app } = server;
    const inside = locations.map(({ sign, path, limit, goesOn }) => {
      const next = goesOn ? 'try_files /nothing @app;' : 'root /srv;';
      return `  location ${sign} ${path} { ${line(limit)} ${next} }`;
    });
    const named = `  location @app { ${line(app)} root /srv; }`;
    return [headOf(server), `  ${line(server.limit)}`, ...inside, named, '}'].join('\n');
  });
  return [...zones, line(whole), ...all].join('\n');
}

function headOf({ names, isDefault }: Server): string {
  return `server {\n  listen 80${isDefault ? ' default_server' : ''};\n  server_name ${names.join(' ')};`;
}

function namedServer({ id, locations, ...server }: Server): string {
  const inside = locations.map((location) => {
    const next = location.goesOn ? 'try_files /nothing @app' : `return 200 ${location.id}`;
    return `  location ${location.sign} ${location.path} { ${next}; }`;
  });
  const named = `  location @app { return 200 ${id}app; }`;
  const itself = `  add_header X-Server ${id} always;`;
  return [headOf({ ...server, id, locations }), itself, ...inside, named, '}'].join('\n');
}
