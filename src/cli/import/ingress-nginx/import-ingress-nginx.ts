/** Carries over the annotations by which ingress-nginx limits requests. It makes limit_req lines of NGINX from them. */
import { lineText } from '../../proxy-files/file-place.ts';
import type { ProxyFiles } from '../../proxy-files/read/proxy-files.ts';
import { type Finding, leftOut, wrongSource } from '../shared/finding.ts';
import type { ExemptEntry, ImportedFile } from '../shared/imported-limit.ts';
import { annotationsOf, type KubernetesObject, objectsIn } from '../shared/kubernetes.ts';
import type { LimitedRoute } from '../shared/limited-route.ts';
import { onePath } from '../shared/path-regex.ts';
import { ANY_PATH, hostOf } from '../shared/paths.ts';
import { isRange, sharedBy } from '../shared/ranges.ts';
import { splitFinding } from '../shared/route-findings.ts';
import { notLimited, policiesByOwner, policiesOfRoutes } from '../shared/routes.ts';
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
  const hasClasses = new Set(ingresses.map(classOf).filter((each) => each !== '')).size > 1;
  const routes = ingresses
    .flatMap(routesOf)
    .map((route) => (hasClasses ? route : { ...route, entry: undefined }));
  const made = policiesOfRoutes(routes);
  const counts = policiesByOwner(made);
  const shared = sharedBy(limited.map(({ annotated }) => annotated.exempt));
  return {
    exempt: exemptOf(limited, shared),
    policies: made.made.map(({ policy }) => policy),
    findings: [
      ...ingresses.flatMap((ingress) => findingsOf(ingress, { shared, counts })),
      ...made.findings,
    ],
    limitsFound: ingresses.reduce((sum, { annotated }) => sum + foundIn(annotated), 0),
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
  return { object, annotated: { limits: [], exempt: [], isLeftOut: false, findings }, paths: [] };
}

function foundIn({ limits, isLeftOut }: Annotated): number {
  return limits.length + (isLeftOut ? 1 : 0);
}

/** Controllers of several classes each take requests of their own. */
function classOf({ object }: ReadIngress): string {
  const annotation = annotationsOf(object).find(([name]) => name === 'kubernetes.io/ingress.class');
  return object.node.get('spec', 'ingressClassName')?.text ?? annotation?.[1].text ?? '';
}

/** "exempt" exempts from every limit, so only what no Ingress limits can be there. */
function exemptOf(limited: readonly ReadIngress[], shared: readonly string[]): ExemptEntry[] {
  const [first] = limited;
  if (first === undefined) return [];
  const comment = `limit-allowlist of Ingress ${limited.map(({ object }) => titleOf(object)).join(', ')}`;
  return shared.map((address) => ({ address, comment }));
}

function titleOf({ namespace, name }: KubernetesObject): string {
  return `${namespace}/${name}`;
}

function routesOf(ingress: ReadIngress): LimitedRoute[] {
  const { object, annotated, paths } = ingress;
  const isLimited = annotated.limits.length > 0;
  return paths.flatMap((path): LimitedRoute[] => {
    const { host, known, written, place } = path;
    if (isLimited && !isNameable(path)) return [];
    const where = `Ingress ${titleOf(object)}, ${lineText(place)}`;
    const comments = [`from ${annotated.limits.map(limitText).join(', ')} of ${where}`];
    const limits = annotated.limits.map(({ rate, burst }) => ({ rate, burst, per: 'ip' as const }));
    const { templates, isWider, isNarrower } = known ?? { ...onePath(ANY_PATH), isWider: true };
    const isOther = isWider || !isNameable(path);
    return templates.map((template) => ({
      ...{
        name: object.name,
        title: `Ingress ${titleOf(object)}`,
        template,
        isNarrower,
        place,
        entry: classOf(ingress),
      },
      host: host === undefined ? undefined : hostOf(host),
      condition: isOther ? `the path ${host ?? ''}${written}` : undefined,
      owner: isLimited ? titleOf(object) : '',
      rules: isLimited ? { limits, comments } : notLimited(where),
      isLeftOut: !isLimited && annotated.isLeftOut,
      rank: rankOf(path),
    }));
  });
}

/** NGINX chooses the server of the host, and then the longest path. */
function rankOf({ host = '', written, isExact }: LimitedPath): number[] {
  const ofHost = host.startsWith('*') || host === '' ? host.length : 1_000;
  return [ofHost, isExact ? 1 : 0, written.length];
}

function isNameable({ host, known }: LimitedPath): boolean {
  return known !== undefined && (host === undefined || hostOf(host) !== undefined);
}

const UNNAMED =
  'a policy file has hosts such as api.example.com, and paths such as /login, /users/:id and /files/*. Write a policy for the requests that you mean.';
const NO_RULES = 'the Ingress has no rules. Write a policy for the requests that it means.';
const NOT_EXEMPT = 'it cannot be exempt in a policy file. Name a narrower network.';
const EXEMPT =
  'other Ingresses limit these networks, and "exempt" of the policy file exempts them from every limit. To exempt them from all, list them there.';

interface Made {
  /** The networks that no Ingress with limits limits. */
  readonly shared: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
}

function findingsOf({ object, annotated, paths }: ReadIngress, made: Made): Finding[] {
  const { findings, exempt, limits } = annotated;
  const [first] = limits;
  if (first === undefined) return [...findings];
  const { place: at } = first;
  const what = limitText(first);
  const title = titleOf(object);
  const unnamed = paths.filter((path) => !isNameable(path));
  const odd = exempt.filter((address) => !isRange(address));
  const limitedElsewhere = exempt.filter((each) => isRange(each) && !made.shared.includes(each));
  const elsewhere = `limit-allowlist ${limitedElsewhere.join(',')}`;
  const together = `ingress-nginx counts all paths of Ingress ${title}`;
  return [
    ...findings,
    ...unnamed.map(({ host = '', written, place }) => leftOut(place, host + written, UNNAMED)),
    ...(paths.length === 0 ? [leftOut(at, what, NO_RULES)] : []),
    ...splitFinding({ place: at, what, together }, made.counts.get(title) ?? 0),
    ...odd.map((address) => leftOut(at, `limit-allowlist ${address}`, NOT_EXEMPT)),
    ...(limitedElsewhere.length > 0 ? [leftOut(at, elsewhere, EXEMPT)] : []),
  ];
}
