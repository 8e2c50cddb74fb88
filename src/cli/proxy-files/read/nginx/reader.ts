import { isElsewhere, NOT_SHOWN } from '../../../../gateway/config/text-file.ts';
import { readNginxConfig } from '../../nginx-syntax/config.ts';
import {
  type Directive,
  everyDirective,
  NginxSyntaxError,
  named,
} from '../../nginx-syntax/directive.ts';
import { clientHeadersOf } from '../../print/client-headers.ts';
import { found } from '../catalog.ts';
import { filesOf, includeFindings, type ProxyFiles } from '../proxy-files.ts';
import {
  PRINTED_PART,
  type ProxyFacts,
  type ProxyFile,
  partOf,
  type ReadFile,
  SECRET_HEADER,
} from '../reader.ts';
import { grouped } from '../rule-text.ts';
import { checkFindings } from './checks.ts';
import { denialFindings, errorPageFindings } from './denials.ts';
import { isForHeadgate, levelsIn, passesToHeadgate } from './levels.ts';
import { partFindings } from './part.ts';
import { nginxRewrites } from './rewrites.ts';
import { nginxRoutes } from './routes.ts';
import { nginxSites } from './sites.ts';
import { serversIn } from './upstreams.ts';

export function readNginx({ file, path, text: main, policies }: ProxyFile): ReadFile {
  const files = filesOf(path, main);
  const config = configOf(files, path);
  if (config === undefined) return { own: [found('unknown-proxy-file', file, NOT_ASKING)] };
  const { tree, text, problems } = config;
  const unread = includeFindings(problems);
  // Its includes are relative to a file that is not known.
  if (isPart(main, tree)) return { own: [partOf(file, main)] };
  const facts = factsOf(tree);
  const levels = named(tree, 'http').flatMap((http) => levelsIn([http]));
  const ofSite = levels.filter(([at]) => !isForHeadgate(at));
  const own = grouped([
    ...partFindings(ofSite, policies === undefined ? [] : clientHeadersOf(policies).counted),
    ...denialFindings(ofSite),
    ...checkFindings(levels),
    ...errorPageFindings(tree),
  ]);
  if (facts !== undefined)
    return {
      facts,
      sites: nginxSites(tree),
      routes: nginxRoutes(tree),
      rewrites: nginxRewrites(tree),
      own,
      unread,
      text,
    };
  if (own.length > 0) return { unread, own };
  const problem = everyDirective(tree).some(passesToHeadgate)
    ? 'no location has auth_request /_headgate, so nothing is limited'
    : NOT_ASKING;
  return { unread, own: [found('unknown-proxy-file', file, `${problem}${readIn(files)}`)] };
}

function factsOf(tree: readonly Directive[]): ProxyFacts | undefined {
  const all = everyDirective(tree);
  const check = named(all, 'location').find(({ block }) => block.some(passesToHeadgate));
  if (check === undefined || named(all, 'auth_request').length === 0) return undefined;
  const { block } = check;
  const serversOf = serversIn({ block: tree.flatMap((each) => each.block) });
  const headers = named(block, 'proxy_set_header');
  const nameOf = ({ args: [name = ''] }: Directive) => name.toLowerCase();
  const sent = new Map(headers.map((line) => [nameOf(line), line.args[1] ?? '']));
  const fromClient = (name: string) => CHOSEN_BY_CLIENTS.test(sent.get(name) ?? '');
  const names = Map.groupBy(sent.keys(), fromClient);
  const pages = named(block, 'error_page').flatMap(({ args }) => args);
  const has = (name: string, value: string) =>
    named(block, name).some(({ args: [first] }) => first === value);
  return {
    proxy: 'nginx',
    passed: has('proxy_pass_request_headers', 'off') ? new Set(names.get(true)) : 'all',
    owned: new Set(names.get(false)),
    secret: sent.get(SECRET_HEADER),
    gateways: serversOf(block.find(passesToHeadgate)?.args[0] ?? '', [check])
      .flat()
      .filter((address) => !address.includes('$')),
    losesDenials: !has('proxy_intercept_errors', 'on') || !pages.includes('429'),
    refusesAll: !pages.includes('502'),
    place: check.where,
    secretPlace: headers.find((line) => nameOf(line) === SECRET_HEADER)?.where,
  };
}

/** Names of variables are the same in upper case. */
const CHOSEN_BY_CLIENTS = /\$\{?(?:http|arg|cookie)_/i;

const NOT_ASKING = 'does not ask headgate';
const LOOKS_LIKE_NGINX =
  /\bauth_request\b|^\s*(http|events|server|location|upstream|map|include)\b[^\n;]*[{;]/m;

/** Returns undefined if the text is nothing of NGINX. */
function configOf(files: ProxyFiles, path: string) {
  try {
    return readNginxConfig(files);
  } catch (error) {
    if (!(error instanceof NginxSyntaxError)) throw error;
    if (PRINTED_PART.test(files.main.text)) throw error;
    if (!LOOKS_LIKE_NGINX.test(files.main.text)) return undefined;
    throw isElsewhere(path) ? new RangeError(NOT_SHOWN) : error;
  }
}

const NGINX_PARTS: ReadonlySet<string> = new Set([
  ...['server', 'location', 'upstream', 'map', 'auth_request'],
]);

function isPart(text: string, tree: readonly Directive[]): boolean {
  if (named(tree, 'http').length > 0) return false;
  return PRINTED_PART.test(text) || tree.some(({ name }) => NGINX_PARTS.has(name));
}

/** The output of `nginx -T` may be of another NGINX than the one that the user has changed. */
function readIn({ main, dumped }: ProxyFiles): string {
  if (dumped === undefined) return '';
  const [, ...others] = dumped;
  const [first] = others;
  const more =
    others.length === 1 ? ` and ${first}` : ` and ${others.length} files that it includes`;
  return `; what was read is ${main.name}${others.length === 0 ? '' : more}`;
}
