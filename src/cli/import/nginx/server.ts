import { type Directive, directiveText, named } from '../../proxy-files/nginx-syntax/directive.ts';
import { type Finding, leftOut } from '../shared/finding.ts';
import { hostOf } from '../shared/paths.ts';
import { returnsAtOnce } from './locations.ts';

export interface ServerHosts {
  readonly directive: Directive;
  readonly hosts: readonly string[];
  readonly isCatchAll: boolean;
  readonly findings: readonly Finding[];
}

/** Without servers that only redirect: NGINX answers by `return` before it counts. */
export function serversOf(http: readonly Directive[]): ServerHosts[] {
  const servers = named(http, 'server');
  // A part of a configuration may have locations alone.
  const [first] = servers.length > 0 ? [] : named(http, 'location');
  const all = first === undefined ? servers : [{ ...first, name: 'server', args: [], block: http }];
  return all.filter((server) => !redirects(server)).map(hostsOf);
}

/** By itself, or in `location /` beside one for the certificate. */
function redirects(server: Directive): boolean {
  if (returnsAtOnce(server)) return true;
  const moved = named(server.block, 'rewrite').some(
    ({ args: [from = '', , flag = ''] }) =>
      /^\^(\/)?(\.\*|\(\.\*\))?\$?$/.test(from) && /^(permanent|redirect)$/.test(flag),
  );
  const root = named(server.block, 'location').find(({ args }) => args.join(' ') === '/');
  const target = root && named(root.block, 'return')[0]?.args[0];
  return (moved || /^(30\d|https?:)/.test(target ?? '')) && !limits(server);
}

function limits({ block }: Directive): boolean {
  return block.some((each) => each.name === 'limit_req' || limits(each));
}

/** No name, `_` and `""`. */
const CATCH_ALL = /^_*$/;

function hostsOf(directive: Directive): ServerHosts {
  const findings: Finding[] = [];
  const lines = named(directive.block, 'server_name');
  const isCatchAll = lines.every(({ args }) => args.every((name) => CATCH_ALL.test(name)));
  const hosts = lines.flatMap((line) =>
    line.args.flatMap((name) => {
      if (CATCH_ALL.test(name)) return [];
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
  return { directive, hosts: [...new Set(hosts)], isCatchAll, findings };
}
