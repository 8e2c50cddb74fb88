import { type Directive, directiveText, named } from '../../proxy-files/nginx-syntax/directive.ts';
import { type Finding, leftOut } from '../shared/finding.ts';
import { hostOf } from '../shared/paths.ts';
import { hasHost } from '../shared/request-set.ts';
import type { Level } from './limits.ts';
import { type Location, returnsAtOnce, serverLocation } from './locations.ts';

export interface Server {
  readonly number: number;
  readonly hosts: readonly string[];
  /** Where it listens, and whether it answers hosts there that no server names. */
  readonly sockets: ReadonlyMap<string, boolean>;
  /** NGINX answers all of its requests by `return`, before it counts. */
  readonly answersItself: boolean;
  readonly location: Location;
  readonly findings: readonly Finding[];
}

export function serversOf(http: readonly Directive[], level: Level): Server[] {
  const servers = named(http, 'server');
  // A part of a configuration may have locations alone.
  const [first] = servers.length > 0 ? [] : named(http, 'location');
  const all = first === undefined ? servers : [{ ...first, name: 'server', args: [], block: http }];
  return all.map((directive, number) => ({
    ...hostsOf(directive),
    number,
    sockets: socketsOf(directive),
    answersItself: redirects(directive),
    location: serverLocation(directive, level),
  }));
}

function socketsOf({ block }: Directive): Map<string, boolean> {
  const lines = named(block, 'listen');
  if (lines.length === 0) return new Map([['*:80', false]]);
  return new Map(
    lines.map(({ args: [address = '', ...options] }) => {
      const socket = /^\d+$/.test(address) ? `*:${address}` : address;
      return [socket, options.some((each) => /^default(_server)?$/.test(each))];
    }),
  );
}

/**
 * The servers that may answer requests for a host, without those that only redirect. Undefined is every host that no
 * server names.
 */
export function answering(servers: readonly Server[], host: string | undefined): Server[] {
  const sockets = new Set(servers.flatMap((server) => [...server.sockets.keys()]));
  const chosen = [...sockets].map((socket) => {
    const all = servers.filter((server) => server.sockets.has(socket));
    const [best] = all
      .flatMap((server) => server.hosts.map((name) => ({ server, name })))
      .filter(({ name }) => host !== undefined && hasHost(name, host))
      .sort((a, b) => weightOf(b.name) - weightOf(a.name));
    return best?.server ?? all.find((server) => server.sockets.get(socket)) ?? all[0];
  });
  const used = new Set(chosen);
  return servers.filter((server) => used.has(server) && !server.answersItself);
}

function weightOf(name: string): number {
  return name.startsWith('*') ? name.length : 1_000;
}

/** By itself, or in `location /` beside one for the certificate. */
function redirects(server: Directive): boolean {
  if (returnsAtOnce(server)) return true;
  const moved = named(server.block, 'rewrite').some(
    ({ args: [from = '', , flag = ''] }) =>
      /^\^(\/)?(\.\*|\(\.\*\))?\$?$/.test(from) && /^(permanent|redirect)$/.test(flag),
  );
  const locations = named(server.block, 'location');
  const root = locations.find(({ args }) => args.join(' ') === '/');
  const target = root && named(root.block, 'return')[0]?.args[0];
  const isRedirect = moved || /^(30\d|https?:)/.test(target ?? '');
  const others = locations.filter((each) => each !== root && !returnsAtOnce(each));
  return isRedirect && others.every(({ args }) => /^\/\.well-known\//.test(args.at(-1) ?? ''));
}

/** No name, `_` and `""`. */
const NO_NAME = /^_*$/;

function hostsOf(directive: Directive): Pick<Server, 'hosts' | 'findings'> {
  const findings: Finding[] = [];
  const lines = named(directive.block, 'server_name');
  const hosts = lines.flatMap((line) =>
    line.args.flatMap((name) => {
      if (NO_NAME.test(name)) return [];
      const written = name.startsWith('.') ? [name.slice(1), `*${name}`] : [name];
      const valid = written.map(hostOf).filter((host) => host !== undefined);
      if (valid.length < written.length) {
        const why =
          'a policy file has hosts such as api.example.com and *.example.com. The limits of this server hold only for its other names: write policies for the hosts that you mean.';
        findings.push(leftOut(line.place, directiveText({ ...line, args: [name] }), why));
      }
      return valid;
    }),
  );
  return { hosts: [...new Set(hosts)], findings };
}
