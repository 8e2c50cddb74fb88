/** Examines the file of a proxy, with the files that it includes. */
import { type DoctorFinding, found } from '../catalog.ts';
import { caddyFacts } from './caddy.ts';
import { readCaddyfile } from './caddy-imports.ts';
import { caddyParts } from './caddy-parts.ts';
import { caddyRewrites } from './caddy-rewrites.ts';
import { caddySites } from './caddy-sites.ts';
import { caddyTree } from './caddy-tree.ts';
import { caddyWays } from './caddy-ways.ts';
import { type Comparison, misfits } from './compare.ts';
import { envoyFacts } from './envoy.ts';
import { envoyFindings } from './envoy-findings.ts';
import { envoyRewrites } from './envoy-rewrites.ts';
import { envoySites } from './envoy-sites.ts';
import { envoyWays } from './envoy-ways.ts';
import type { ProxyFacts, ReadFacts } from './facts.ts';
import { haproxyFacts } from './haproxy.ts';
import { haproxyFindings } from './haproxy-findings.ts';
import { haproxyRewrites } from './haproxy-rewrites.ts';
import { haproxySites } from './haproxy-sites.ts';
import { haproxyWays } from './haproxy-ways.ts';
import { isManifest, manifestFindings } from './manifests.ts';
import { asksHeadgate, nginxFacts } from './nginx.ts';
import { readNginxConfig } from './nginx-config.ts';
import { nginxSubjects } from './nginx-findings.ts';
import { everyDirective } from './nginx-tree.ts';
import { isPart, PRINTED_PART, partOf } from './part-of-file.ts';
import { filesOfDump, filesOnDisk, type ProxyFiles } from './proxy-files.ts';
import { type Rewrite, rewriteFindings } from './rewrites.ts';
import { compareSecret } from './secret.ts';
import { otherTraefikFile, traefikFacts } from './traefik.ts';
import { traefikRewrites } from './traefik-rewrites.ts';
import { traefikSites } from './traefik-sites.ts';
import { type TraefikStart, traefikStart } from './traefik-start.ts';
import { traefikWays } from './traefik-ways.ts';
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
const WAYS: Readonly<Record<string, (file: string, text: string) => readonly Way[]>> = {
  envoy: envoyWays,
  'envoy-grpc': envoyWays,
  haproxy: haproxyWays,
  traefik: traefikWays,
};

const REWRITES: Readonly<Record<string, (file: string, text: string) => readonly Rewrite[]>> = {
  envoy: envoyRewrites,
  'envoy-grpc': envoyRewrites,
  haproxy: haproxyRewrites,
  traefik: traefikRewrites,
};

/** What only the file of one proxy can have wrong. */
const OWN: Readonly<Record<string, (file: string, text: string) => DoctorFinding[]>> = {
  envoy: envoyFindings,
  'envoy-grpc': envoyFindings,
  haproxy: haproxyFindings,
};

export interface ProxyFileInput extends Comparison {
  /** Where relative includes begin: the path of the file, even if its text came from elsewhere. */
  readonly path: string;
}

export async function examineProxyFile(input: ProxyFileInput): Promise<DoctorFinding[]> {
  const { file, text } = input;
  let facts: ProxyFacts | undefined;
  try {
    if (isManifest(text)) return manifestFindings(file, text);
    const start = traefikStart(text);
    if (start !== undefined) return await traefikStartFindings(start, input);
    for (const read of READERS) facts ??= read(text);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (PRINTED_PART.test(text)) return [partOf(file, text)];
    return [found('unreadable-proxy-file', file, error.message)];
  }
  if (facts !== undefined) {
    const sites = SITES[facts.proxy]?.(file, text) ?? [];
    const ways = WAYS[facts.proxy]?.(file, text) ?? [];
    const losses = OWN[facts.proxy]?.(file, text) ?? [];
    const rewrites = REWRITES[facts.proxy]?.(file, text) ?? [];
    return findingsOf({ facts, sites, ways, losses, rewrites }, input);
  }
  const files = filesOfDump(text) ?? filesOnDisk(input.path, text);
  return (await caddyFindings(input, files)) ?? nginxFindings(input, files);
}

/** Examines the file with the routers, together with the entry points. Throws an Error if it cannot be read. */
async function traefikStartFindings(
  start: TraefikStart,
  input: ProxyFileInput,
): Promise<DoctorFinding[]> {
  const [routers] = filesOnDisk(input.path, input.text).included(start.routers);
  const { name, path, text } = routers ?? { name: start.routers, path: '', text: '' };
  const facts = traefikFacts(text);
  if (facts === undefined) return [found('unknown-proxy-file', name, 'does not ask headgate')];
  const sites = traefikSites(name, text);
  const ways = traefikWays(name, text, start);
  const rewrites = traefikRewrites(name, text);
  return findingsOf({ facts, sites, ways, rewrites }, { ...input, file: name, path, text });
}

/** Undefined if it is not a Caddyfile that asks headgate. */
async function caddyFindings(
  input: ProxyFileInput,
  files: ProxyFiles,
): Promise<DoctorFinding[] | undefined> {
  const { text, lines, findings: unread } = readCaddyfile(files);
  const tree = caddyTree(lines);
  const facts = caddyFacts(tree);
  if (facts === undefined) {
    if (!tree.snippets.has('headgate') || PRINTED_PART.test(input.text)) return undefined;
    const problem = 'no site has import headgate, so nothing is limited';
    return [...unread, found('unknown-proxy-file', input.file, problem)];
  }
  const losses = caddyParts(tree);
  const rewrites = caddyRewrites(tree);
  const read = { facts, unread, losses, rewrites, sites: caddySites(tree), ways: caddyWays(tree) };
  return findingsOf(read, { ...input, text });
}

async function nginxFindings(input: ProxyFileInput, files: ProxyFiles): Promise<DoctorFinding[]> {
  const { tree, text, findings: unread } = readNginxConfig(files);
  const { file } = input;
  // The includes of a part are relative to a file that is not known.
  if (isPart(input.text, tree)) return [partOf(file, input.text)];
  const facts = nginxFacts(tree);
  const subjects = nginxSubjects(tree, input.policies);
  if (facts !== undefined) return findingsOf({ facts, unread, ...subjects }, { ...input, text });
  if (subjects.losses.length > 0) return [...unread, ...subjects.losses];
  const problem = everyDirective(tree).some(asksHeadgate)
    ? 'no location has auth_request /_headgate, so nothing is limited'
    : (otherTraefikFile(input.text) ?? 'does not ask headgate');
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
  readonly rewrites?: readonly Rewrite[];
  /** About files that could not be read. */
  readonly unread?: readonly DoctorFinding[];
  /** About lines that take effect away from others. */
  readonly losses?: readonly DoctorFinding[];
}

/** Adds that the file fits if it does. */
async function findingsOf(
  { facts, sites, ways = [], rewrites = [], unread = [], losses = [] }: ReadProxyFile,
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
    ...(policies === undefined ? [] : rewriteFindings(rewrites, policies)),
  ];
  if (findings.some(({ severity }) => severity !== 'info')) return findings;
  const what = `${facts.proxy}, fits the settings${policies === undefined ? '' : ' and the policy file'}`;
  return [
    ...findings,
    found('proxy-file', file, secret.isCompared ? what : `${what}${UNCOMPARED}`),
  ];
}
