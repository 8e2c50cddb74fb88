import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import { readCaddy } from './caddy/reader.ts';
import { found } from './catalog.ts';
import { readEnvoy } from './envoy/reader.ts';
import { readHaproxy } from './haproxy/reader.ts';
import { readManifests } from './kubernetes/manifests.ts';
import { readNginx } from './nginx/reader.ts';
import {
  PRINTED_PART,
  type ProxyFile,
  partOf,
  type ReadFile,
  type ReadProxyFile,
} from './reader.ts';
import { rewriteFindings } from './rewrites.ts';
import { type Comparison, compareSecret, misfits } from './settings-comparison.ts';
import { readOtherTraefik, readTraefik } from './traefik/reader.ts';
import { uncheckedPaths, uncheckedRoutes } from './unchecked-paths.ts';

/** The first one that knows the file reads it. The reader of NGINX takes every file. */
const READERS: readonly ReadProxyFile[] = [
  readManifests,
  readEnvoy,
  readTraefik,
  readHaproxy,
  readCaddy,
  readOtherTraefik,
  readNginx,
];

export type ProxyFileInput = ProxyFile & Comparison;

export async function examineProxyFile(input: ProxyFileInput): Promise<Diagnostic[]> {
  let read: ReadFile | undefined;
  try {
    for (const reader of READERS) read ??= reader(input);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (PRINTED_PART.test(input.text)) return [partOf(input.file, input.text)];
    return [found('unreadable-proxy-file', input.file, error.message)];
  }
  const { file = input.file, text = input.text } = read ?? {};
  return findingsOf(read ?? {}, { ...input, file, text });
}

const UNCOMPARED =
  '; its secret was not compared, because HEADGATE_PROXY_SECRET is not set here and no gateway answers';

async function findingsOf(
  { facts, sites = [], routes = [], rewrites = [], unread = [], own = [] }: ReadFile,
  input: Comparison,
): Promise<Diagnostic[]> {
  if (facts === undefined) return [...unread, ...own];
  const { file, policies } = input;
  const secretFindings = await compareSecret(facts, input);
  const unchecked = policies === undefined ? [] : uncheckedPaths(sites, policies);
  const findings = [
    ...unread,
    ...misfits(facts, input, secretFindings ?? []),
    ...own,
    ...unchecked,
    ...uncheckedRoutes(routes).filter(({ file }) => unchecked.every((each) => each.file !== file)),
    ...(policies === undefined ? [] : rewriteFindings(rewrites, policies)),
  ];
  if (findings.some(({ severity }) => severity !== 'info')) return findings;
  const what = `${facts.proxy}, fits the settings${policies === undefined ? '' : ' and the policy file'}`;
  return [...findings, found('proxy-file', file, secretFindings ? what : `${what}${UNCOMPARED}`)];
}
