/** Examines the file of a proxy, with the files that it includes. */
import { sentByClients } from '../../proxy-config/proxy-config.ts';
import { type DoctorFinding, found } from '../catalog.ts';
import { caddyFacts } from './caddy.ts';
import { readCaddyfile } from './caddy-imports.ts';
import { caddySites } from './caddy-sites.ts';
import { type Comparison, misfits } from './compare.ts';
import { envoyFacts } from './envoy.ts';
import { envoySites } from './envoy-sites.ts';
import type { ProxyFacts, ReadFacts } from './facts.ts';
import { haproxyFacts } from './haproxy.ts';
import { haproxySites } from './haproxy-sites.ts';
import { asksHeadgate, nginxFacts } from './nginx.ts';
import { readNginxConfig } from './nginx-config.ts';
import { nginxLosses } from './nginx-losses.ts';
import { nginxSites } from './nginx-sites.ts';
import { type Directive, everyDirective } from './nginx-tree.ts';
import { filesOfDump, filesOnDisk, type ProxyFiles } from './proxy-files.ts';
import { compareSecret } from './secret.ts';
import { traefikFacts } from './traefik.ts';
import { traefikSites } from './traefik-sites.ts';
import { type Site, uncheckedPaths } from './unchecked-paths.ts';
import { uncheckedWays, type Way } from './ways.ts';

const READERS: readonly ReadFacts[] = [envoyFacts, traefikFacts, haproxyFacts];

/** What is known of the routes of a proxy, by the name of `headgate proxy-config`. */
const SITES: Readonly<Record<string, (file: string, text: string) => readonly Site[]>> = {
  envoy: envoySites,
  'envoy-grpc': envoySites,
  traefik: traefikSites,
  haproxy: haproxySites,
};

/** The ways to applications, by the name of `headgate proxy-config`. */
const WAYS: Readonly<Record<string, (file: string, text: string) => readonly Way[]>> = {};

export interface ProxyFileInput extends Comparison {
  /** Where relative includes begin: the path of the file, even if its text came from elsewhere. */
  readonly path: string;
}

export async function examineProxyFile(input: ProxyFileInput): Promise<DoctorFinding[]> {
  const { file, text } = input;
  let facts: ProxyFacts | undefined;
  try {
    for (const read of READERS) facts ??= read(text);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (PRINTED_PART.test(text)) return [partOf(file, text)];
    return [found('unreadable-proxy-file', file, error.message)];
  }
  if (facts !== undefined) {
    const sites = SITES[facts.proxy]?.(file, text) ?? [];
    const ways = WAYS[facts.proxy]?.(file, text) ?? [];
    return findingsOf({ facts, sites, ways }, input);
  }
  const files = filesOfDump(text) ?? filesOnDisk(input.path, text);
  return (await caddyFindings(input, files)) ?? nginxFindings(input, files);
}

/** Undefined if it is not a Caddyfile that asks headgate. */
async function caddyFindings(
  input: ProxyFileInput,
  files: ProxyFiles,
): Promise<DoctorFinding[] | undefined> {
  const { text, lines, findings: unread } = readCaddyfile(files);
  const facts = caddyFacts(text);
  if (facts === undefined) return undefined;
  return findingsOf({ facts, unread, sites: caddySites(lines) }, { ...input, text });
}

async function nginxFindings(input: ProxyFileInput, files: ProxyFiles): Promise<DoctorFinding[]> {
  const { tree, text, findings: unread } = readNginxConfig(files);
  const { file } = input;
  // The includes of a part are relative to a file that is not known.
  if (isPart(input.text, tree)) return [partOf(file, input.text)];
  const facts = nginxFacts(tree);
  const losses = nginxLosses(tree, input.policies ? sentByClients(input.policies) : []);
  if (facts !== undefined) {
    return findingsOf({ facts, unread, losses, sites: nginxSites(tree) }, { ...input, text });
  }
  if (losses.length > 0) return [...unread, ...losses];
  const problem = everyDirective(tree).some(asksHeadgate)
    ? 'no location has auth_request /_headgate, so nothing is limited'
    : 'does not ask headgate';
  return [...unread, found('unknown-proxy-file', file, `${problem}${readIn(files)}`)];
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

const UNCOMPARED =
  '; its secret was not compared, because HEADGATE_PROXY_SECRET is not set here and no gateway answers';

interface ReadProxyFile {
  readonly facts: ProxyFacts;
  readonly sites: readonly Site[];
  readonly ways?: readonly Way[];
  /** About files that could not be read. */
  readonly unread?: readonly DoctorFinding[];
  /** About lines that take effect away from others. */
  readonly losses?: readonly DoctorFinding[];
}

/** Adds that the file fits if it does. */
async function findingsOf(
  { facts, sites, ways = [], unread = [], losses = [] }: ReadProxyFile,
  input: ProxyFileInput,
): Promise<DoctorFinding[]> {
  const { file, policies } = input;
  const secret = await compareSecret(facts, input);
  const findings = [
    ...unread,
    ...misfits(facts, input, secret.findings),
    ...losses,
    ...(policies === undefined ? [] : uncheckedPaths(sites, policies)),
    ...uncheckedWays(ways),
  ];
  if (findings.some(({ severity }) => severity !== 'info')) return findings;
  const what = `${facts.proxy}, fits the settings${policies === undefined ? '' : ' and the policy file'}`;
  return [
    ...findings,
    found('proxy-file', file, secret.isCompared ? what : `${what}${UNCOMPARED}`),
  ];
}

/** The first line of what `headgate proxy-config --include` prints. */
const PRINTED_PART = /^\s*# headgate: part for /;
/** Names that begin a part of an NGINX configuration. */
const NGINX_PARTS: ReadonlySet<string> = new Set([
  ...['server', 'location', 'upstream', 'map', 'auth_request'],
]);

function isPart(text: string, tree: readonly Directive[]): boolean {
  if (tree.some(({ name }) => name === 'http')) return false;
  return PRINTED_PART.test(text) || tree.some(({ name }) => NGINX_PARTS.has(name));
}

function partOf(file: string, text: string): DoctorFinding {
  const what = PRINTED_PART.test(text)
    ? 'is a part that headgate proxy-config has printed, and not a whole file'
    : 'is a part of an NGINX configuration: it has no block http';
  return found('part-of-proxy-file', file, what);
}
