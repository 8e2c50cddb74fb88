/** Carries over the annotations by which ingress-nginx limits requests. It makes limit_req lines of NGINX from them. */
import { lineText } from '../../proxy-files/file-place.ts';
import type { ProxyFiles } from '../../proxy-files/read/proxy-files.ts';
import { approximate, type Finding, leftOut, wrongSource } from '../shared/finding.ts';
import type { ExemptEntry, ImportedFile } from '../shared/imported-limit.ts';
import { annotationsOf, type KubernetesObject, objectsIn } from '../shared/kubernetes.ts';
import { hostOf } from '../shared/paths.ts';
import { isRange } from '../shared/ranges.ts';
import { type LimitedRoute, notLimited, policiesOfRoutes, splitFinding } from '../shared/routes.ts';
import { readDocuments } from '../shared/yaml-node.ts';
import { type Annotated, annotatedLimits, limitText } from './annotations.ts';
import { type LimitedPath, pathsOf } from './paths.ts';

interface ReadIngress {
  readonly object: KubernetesObject;
  readonly annotated: Annotated;
  readonly paths: readonly LimitedPath[];
}

export function importIngressNginx({ main: source }: ProxyFiles): ImportedFile {
  const objects = objectsIn(readDocuments(source));
  const ingresses = objects.filter(({ kind }) => kind === 'Ingress').map(readIngress);
  if (ingresses.length === 0) {
    const message =
      'has no Ingress. Name a file of Ingress objects, or pipe in kubectl get ingress -A -o yaml.';
    throw wrongSource(source.name, message);
  }
  const limited = ingresses.filter(({ annotated }) => annotated.limits.length > 0);
  const { policies, counts } = policiesOfRoutes(ingresses.flatMap(routesOf));
  return {
    exempt: limited.flatMap(exemptOf),
    policies,
    findings: ingresses.flatMap((ingress) => findingsOf(ingress, { limited, counts })),
    limitsFound: ingresses.reduce((sum, { annotated }) => sum + annotated.limits.length, 0),
  };
}

function readIngress(object: KubernetesObject): ReadIngress {
  const annotations = annotationsOf(object);
  const annotated = annotatedLimits(annotations);
  const canary = annotations.find(([name]) => name.endsWith('/canary'))?.[1];
  if (canary?.isTrue !== true) return { object, annotated, paths: pathsOf(object) };
  // A canary takes a share of the requests of another Ingress, with the limits of that one.
  const why =
    'ingress-nginx limits the requests of a canary by the annotations of the main Ingress.';
  const findings = annotated.limits.map((each) => leftOut(each.place, limitText(each), why));
  return { object, annotated: { limits: [], exempt: [], findings }, paths: [] };
}

function exemptOf({ object, annotated }: ReadIngress): ExemptEntry[] {
  const comment = `limit-allowlist of Ingress ${titleOf(object)}`;
  return annotated.exempt.filter(isRange).map((address) => ({ address, comment }));
}

function titleOf({ namespace, name }: KubernetesObject): string {
  return `${namespace}/${name}`;
}

function routesOf({ object, annotated, paths }: ReadIngress): LimitedRoute[] {
  const { name } = object;
  return paths.flatMap(({ host, template, place }): LimitedRoute[] => {
    if (template === undefined || !isNameable(host)) return [];
    const where = `Ingress ${titleOf(object)}, ${lineText(place)}`;
    const route = { name, host: host === undefined ? undefined : hostOf(host), template, place };
    if (annotated.limits.length === 0) {
      return [{ ...route, owner: '', rules: notLimited(where) }];
    }
    const comments = [`from ${annotated.limits.map(limitText).join(', ')} of ${where}`];
    const limits = annotated.limits.map(({ rate, burst }) => ({ rate, burst, per: 'ip' as const }));
    return [{ ...route, owner: titleOf(object), rules: { limits, comments } }];
  });
}

function isNameable(host: string | undefined): boolean {
  return host === undefined || hostOf(host) !== undefined;
}

const UNNAMED =
  'a policy file has hosts such as api.example.com, and paths such as /login, /users/:id and /files/*. Write a policy for the requests that you mean.';
const NO_RULES = 'the Ingress has no rules. Write a policy for the requests that it means.';
const NOT_EXEMPT = 'it cannot be exempt in a policy file. Name a narrower network.';
const EXEMPT =
  'ingress-nginx exempts these networks from the limits of this Ingress. "exempt" of the policy file exempts them from every limit.';

interface Made {
  readonly limited: readonly ReadIngress[];
  readonly counts: ReadonlyMap<string, number>;
}

function findingsOf({ object, annotated, paths }: ReadIngress, made: Made): Finding[] {
  const { findings, exempt, limits } = annotated;
  const [first] = limits;
  if (first === undefined) return [...findings];
  const { place: at } = first;
  const what = limitText(first);
  const title = titleOf(object);
  const unnamed = paths.filter(({ host, template }) => template === undefined || !isNameable(host));
  const odd = exempt.filter((address) => !isRange(address));
  const isWider = exempt.length > odd.length && made.limited.length > 1;
  const together = `ingress-nginx counts all paths of Ingress ${title}`;
  return [
    ...findings,
    ...unnamed.map(({ host = '', written, place }) => leftOut(place, host + written, UNNAMED)),
    ...(paths.length === 0 ? [leftOut(at, what, NO_RULES)] : []),
    ...splitFinding({ place: at, what, together }, made.counts.get(title) ?? 0),
    ...odd.map((address) => leftOut(at, `limit-allowlist ${address}`, NOT_EXEMPT)),
    ...(isWider ? [approximate(at, `limit-allowlist ${exempt.join(',')}`, EXEMPT)] : []),
  ];
}
