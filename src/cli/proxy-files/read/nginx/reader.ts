/** Reads an NGINX configuration, with the files that it includes. */

import { isElsewhere, NOT_SHOWN } from '../../../../gateway/config/text-file.ts';
import { type NginxConfig, readNginxConfig } from '../../nginx-syntax/config.ts';
import { type Directive, everyDirective } from '../../nginx-syntax/directive.ts';
import { NginxSyntaxError } from '../../nginx-syntax/syntax-error.ts';
import { sentByClients } from '../../print/client-headers.ts';
import { found } from '../catalog.ts';
import { filesOf, includeFindings, type ProxyFiles } from '../proxy-files.ts';
import { PRINTED_PART, type ProxyFile, partOf, type ReadFile } from '../reader.ts';
import { grouped } from '../rule-text.ts';
import { nginxChecks } from './checks.ts';
import { nginxDenials, nginxErrorPages } from './denials.ts';
import { nginxFacts } from './facts.ts';
import { asksHeadgate, isForHeadgate, levelsIn } from './levels.ts';
import { nginxLosses } from './losses.ts';
import { nginxRewrites } from './rewrites.ts';
import { nginxSites } from './sites.ts';
import { nginxWays } from './ways.ts';

/** Takes every file that no other reader knows. */
export function readNginx({ file, path, text: main, policies }: ProxyFile): ReadFile {
  const files = filesOf(path, main);
  const config = configOf(files, path);
  if (config === undefined) return { own: [found('unknown-proxy-file', file, NOT_ASKING)] };
  const { tree, text, problems } = config;
  const unread = includeFindings(problems);
  // The includes of a part are relative to a file that is not known.
  if (isPart(main, tree)) return { own: [partOf(file, main)] };
  const facts = nginxFacts(tree);
  const levels = tree.filter(({ name }) => name === 'http').flatMap((http) => levelsIn(http, []));
  const ofSite = levels.filter(({ at }) => !isForHeadgate(at));
  const own = grouped([
    ...nginxLosses(ofSite, policies === undefined ? [] : sentByClients(policies)),
    ...nginxDenials(ofSite),
    ...nginxChecks(levels),
    ...nginxErrorPages(tree),
  ]);
  if (facts !== undefined)
    return {
      facts,
      sites: nginxSites(tree),
      routes: nginxWays(tree),
      rewrites: nginxRewrites(tree),
      own,
      unread,
      text,
    };
  if (own.length > 0) return { unread, own };
  const problem = everyDirective(tree).some(asksHeadgate)
    ? 'no location has auth_request /_headgate, so nothing is limited'
    : NOT_ASKING;
  return { unread, own: [found('unknown-proxy-file', file, `${problem}${readIn(files)}`)] };
}

const NOT_ASKING = 'does not ask headgate';
const LOOKS_LIKE_NGINX =
  /\bauth_request\b|^\s*(http|events|server|location|upstream|map|include)\b[^\n;]*[{;]/m;

/** Undefined if the text is nothing of NGINX. */
function configOf(files: ProxyFiles, path: string): NginxConfig | undefined {
  try {
    return readNginxConfig(files);
  } catch (error) {
    if (!(error instanceof NginxSyntaxError)) throw error;
    if (PRINTED_PART.test(files.main.text)) throw error;
    if (!LOOKS_LIKE_NGINX.test(files.main.text)) return undefined;
    throw isElsewhere(path) ? new RangeError(NOT_SHOWN) : error;
  }
}

/** Names that begin a part of an NGINX configuration. */
const NGINX_PARTS: ReadonlySet<string> = new Set([
  ...['server', 'location', 'upstream', 'map', 'auth_request'],
]);

function isPart(text: string, tree: readonly Directive[]): boolean {
  if (tree.some(({ name }) => name === 'http')) return false;
  return PRINTED_PART.test(text) || tree.some(({ name }) => NGINX_PARTS.has(name));
}

/** The files of the output of `nginx -T`: it may be another NGINX than the one that the user has changed. */
function readIn({ main, dumped }: ProxyFiles): string {
  if (dumped === undefined) return '';
  const [, ...others] = dumped;
  const [first] = others;
  const more =
    others.length === 1 ? ` and ${first}` : ` and ${others.length} files that it includes`;
  return `; what was read is ${main.name}${others.length === 0 ? '' : more}`;
}
