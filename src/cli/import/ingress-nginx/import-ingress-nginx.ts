/** Carries over the annotations by which ingress-nginx limits requests. It makes limit_req lines of NGINX from them. */
import { addressRange } from '../../../gateway/config/policy-file/access-schema.ts';
import { type Finding, ImportError } from '../shared/finding.ts';
import { hostOf } from '../shared/hosts.ts';
import type { ExemptEntry, ImportedFile } from '../shared/imported-limit.ts';
import { annotationsOf, type KubernetesObject, objectsIn } from '../shared/kubernetes.ts';
import { type LimitedRoute, policiesOfRoutes } from '../shared/routes.ts';
import { lineText, type Source } from '../shared/source.ts';
import { readDocuments } from '../shared/yaml-node.ts';
import { type Annotated, annotatedLimits, limitText } from './annotations.ts';
import { type IngressPath, pathsOf } from './paths.ts';

/** An Ingress with its limits and paths. */
interface ReadIngress {
  readonly object: KubernetesObject;
  readonly annotated: Annotated;
  readonly paths: readonly IngressPath[];
}

export function importIngressNginx(source: Source): ImportedFile {
  const objects = objectsIn(readDocuments(source));
  const ingresses = objects.filter(({ kind }) => kind === 'Ingress').map(readIngress);
  if (ingresses.length === 0) {
    const message =
      'has no Ingress. Name a file of Ingress objects, or pipe in kubectl get ingress -A -o yaml.';
    throw new ImportError({ file: source.name, line: 1, column: 1 }, message);
  }
  const limited = ingresses.filter(({ annotated }) => annotated.limits.length > 0);
  const { policies, counts } = policiesOfRoutes(ingresses.flatMap(routesOf));
  return {
    sources: [],
    trustedProxies: [],
    exempt: limited.flatMap(exemptOf),
    default: undefined,
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
  const findings = annotated.limits.map((each) => ({
    place: each.place,
    kind: 'left-out' as const,
    what: limitText(each),
    why: 'ingress-nginx limits the requests of a canary by the annotations of the main Ingress.',
  }));
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
  /** By Ingress: how many policies it became. */
  readonly counts: ReadonlyMap<string, number>;
}

function findingsOf(
  { object, annotated, paths }: ReadIngress,
  { limited, counts }: Made,
): Finding[] {
  const findings: Finding[] = [...annotated.findings];
  const [first] = annotated.limits;
  if (first === undefined) return findings;
  const at = { place: first.place, what: limitText(first) };
  for (const { host, template, written, place, note } of paths) {
    if (template === undefined || !isNameable(host)) {
      const why =
        'a policy file has hosts such as api.example.com, and paths such as /login, /users/:id and /files/*. Write a policy for the requests that you mean.';
      findings.push({ place, kind: 'left-out', what: `${host ?? ''}${written}`, why });
    } else if (note !== undefined)
      findings.push({ place, kind: 'approximate', what: written, why: note });
  }
  if (paths.length === 0) {
    findings.push({
      ...at,
      kind: 'left-out',
      why: 'the Ingress has no rules. Write a policy for the requests that it means.',
    });
  }
  const own = counts.get(titleOf(object)) ?? 0;
  if (own > 1) {
    const why = `ingress-nginx counts all paths of Ingress ${titleOf(object)} together, and headgate counts each of its ${own} policies by itself. A client gets the limit in each of them.`;
    findings.push({ ...at, kind: 'approximate', why });
  }
  const odd = annotated.exempt.filter((address) => !addressRange.safeParse(address).success);
  for (const address of odd) {
    findings.push({
      ...at,
      kind: 'left-out',
      what: `limit-allowlist ${address}`,
      why: 'it cannot be exempt in a policy file. Name a narrower network.',
    });
  }
  if (annotated.exempt.length > odd.length && limited.length > 1) {
    const why =
      'ingress-nginx exempts these networks from the limits of this Ingress. "exempt" of the policy file exempts them from every limit.';
    findings.push({
      ...at,
      kind: 'approximate',
      what: `limit-allowlist ${annotated.exempt.join(',')}`,
      why,
    });
  }
  return findings;
}
