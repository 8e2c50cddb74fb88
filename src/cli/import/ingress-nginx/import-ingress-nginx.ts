/** Carries over the annotations by which ingress-nginx limits requests. It makes limit_req lines of NGINX from them. */
import { addressRange } from '../../../gateway/config/policy-file/access-schema.ts';
import { lineText } from '../../proxy-files/file-place.ts';
import type { ProxyFiles } from '../../proxy-files/read/proxy-files.ts';
import { approximate, type Finding, leftOut, wrongSource } from '../shared/finding.ts';
import type { ExemptEntry, ImportedFile } from '../shared/imported-limit.ts';
import { annotationsOf, type KubernetesObject, objectsIn } from '../shared/kubernetes.ts';
import { hostOf } from '../shared/paths.ts';
import { type LimitedRoute, policiesOfRoutes } from '../shared/routes.ts';
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
  const findings = annotated.limits.map((each) =>
    leftOut(
      each.place,
      limitText(each),
      'ingress-nginx limits the requests of a canary by the annotations of the main Ingress.',
    ),
  );
  return { object, annotated: { limits: [], exempt: [], findings }, paths: [] };
}

function exemptOf({ object, annotated }: ReadIngress): ExemptEntry[] {
  return annotated.exempt
    .filter((address) => addressRange.safeParse(address).success)
    .map((address) => ({ address, comment: `limit-allowlist of Ingress ${titleOf(object)}` }));
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
      const rules = { limits: [], mode: 'off' as const, comments: [`${where}: not limited`] };
      return [{ ...route, owner: '', rules }];
    }
    const comments = [`from ${annotated.limits.map(limitText).join(', ')} of ${where}`];
    const limits = annotated.limits.map(({ rate, burst }) => ({ rate, burst, per: 'ip' as const }));
    return [{ ...route, owner: titleOf(object), rules: { limits, comments } }];
  });
}

function isNameable(host: string | undefined): boolean {
  return host === undefined || hostOf(host) !== undefined;
}

interface Made {
  readonly limited: readonly ReadIngress[];
  readonly counts: ReadonlyMap<string, number>;
}

function findingsOf(
  { object, annotated, paths }: ReadIngress,
  { limited, counts }: Made,
): Finding[] {
  const findings: Finding[] = [...annotated.findings];
  const [first] = annotated.limits;
  if (first === undefined) return findings;
  const { place: at } = first;
  const what = limitText(first);
  for (const { host, template, written, place } of paths) {
    if (template === undefined || !isNameable(host)) {
      const why =
        'a policy file has hosts such as api.example.com, and paths such as /login, /users/:id and /files/*. Write a policy for the requests that you mean.';
      findings.push(leftOut(place, `${host ?? ''}${written}`, why));
    }
  }
  if (paths.length === 0) {
    findings.push(
      leftOut(at, what, 'the Ingress has no rules. Write a policy for the requests that it means.'),
    );
  }
  const own = counts.get(titleOf(object)) ?? 0;
  if (own > 1) {
    const why = `ingress-nginx counts all paths of Ingress ${titleOf(object)} together, and headgate counts each of its ${own} policies by itself. A client gets the limit in each of them.`;
    findings.push(approximate(at, what, why));
  }
  const odd = annotated.exempt.filter((address) => !addressRange.safeParse(address).success);
  for (const address of odd) {
    findings.push(
      leftOut(
        at,
        `limit-allowlist ${address}`,
        'it cannot be exempt in a policy file. Name a narrower network.',
      ),
    );
  }
  if (annotated.exempt.length > odd.length && limited.length > 1) {
    const why =
      'ingress-nginx exempts these networks from the limits of this Ingress. "exempt" of the policy file exempts them from every limit.';
    findings.push(approximate(at, `limit-allowlist ${annotated.exempt.join(',')}`, why));
  }
  return findings;
}
