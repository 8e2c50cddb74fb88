/** Objects of Kubernetes that take headgate's place: each kind of proxy asks only one authorizer at one place. */
import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { found } from '../catalog.ts';
import { at, isMap, listAt, textAt } from '../yaml.ts';
import type { AuthorizerUse, KubernetesObject } from './kinds.ts';

export function conflictsOf(
  uses: readonly AuthorizerUse[],
  objects: readonly KubernetesObject[],
): Diagnostic[] {
  const ours = uses.filter(({ isHeadgate, isProvider }) => isHeadgate && !isProvider);
  const others = uses.filter(({ isHeadgate, isProvider }) => !isHeadgate && !isProvider);
  return [
    ...ours.flatMap((our) =>
      others
        .filter(({ object }) => isSamePlace(our.object, object))
        .map(({ place, what, authorizer }) => {
          const problem = `${what} asks ${authorizer} for what ${our.what} (${our.place}) asks headgate for, and the proxy asks only one of them`;
          return found('authorizer-excluded', place, problem);
        }),
    ),
    ...ours.flatMap((our) => replacedBy(our, objects)),
    ...ours.flatMap(loosened),
  ];
}

function isSamePlace(a: KubernetesObject, b: KubernetesObject): boolean {
  if (a === b || a.kind !== b.kind || a.namespace !== b.namespace) return false;
  const [ours, others] = [placesOf(a), placesOf(b)];
  if (a.kind === 'AuthorizationPolicy' && (ours.length === 0 || others.length === 0)) return true;
  return ours.some((each) => others.includes(each));
}

function placesOf({ kind, value }: KubernetesObject): string[] {
  if (kind === 'Ingress')
    return listAt(value, 'spec', 'rules').flatMap((rule) =>
      listAt(rule, 'http', 'paths').map(
        (path) => `${textAt(rule, 'host') ?? '*'} ${textAt(path, 'path') ?? '/'}`,
      ),
    );
  if (kind === 'HTTPProxy') return [textAt(value, 'spec', 'virtualhost', 'fqdn') ?? ''];
  const nameOf = (target: unknown) =>
    ['kind', 'name', 'sectionName'].map((key) => textAt(target, key) ?? '').join(' ');
  const labels = at(value, 'spec', 'selector', 'matchLabels');
  const named = isMap(labels) ? [JSON.stringify(labels)] : [];
  return [...named, ...targetsOf(value).map(nameOf)];
}

function targetsOf(value: unknown): readonly unknown[] {
  const single = at(value, 'spec', 'targetRef');
  return [...listAt(value, 'spec', 'targetRefs'), ...(isMap(single) ? [single] : [])];
}

/** A SecurityPolicy for a route replaces the whole one for its gateway, unless it is merged. */
function replacedBy(our: AuthorizerUse, objects: readonly KubernetesObject[]): Diagnostic[] {
  if (our.object.kind !== 'SecurityPolicy') return [];
  if (!targetsOf(our.object.value).some((target) => textAt(target, 'kind') === 'Gateway'))
    return [];
  return objects
    .filter(
      ({ kind, value }) =>
        kind === 'SecurityPolicy' &&
        at(value, 'spec', 'extAuth') === undefined &&
        at(value, 'spec', 'mergeType') === undefined &&
        targetsOf(value).some((target) => textAt(target, 'kind')?.endsWith('Route')),
    )
    .map(({ name, place }) => {
      const problem = `the SecurityPolicy ${name} is for a route, has no extAuth, and replaces ${our.what} (${our.place}) of its gateway there`;
      return found('authorizer-excluded', place, problem);
    });
}

/** Finds settings of the same object by which requests pass without headgate. */
function loosened({ object, place }: AuthorizerUse): Diagnostic[] {
  const { kind, value } = object;
  const annotation = (name: string) =>
    textAt(value, 'metadata', 'annotations', `nginx.ingress.kubernetes.io/${name}`);
  if (kind === 'Ingress' && annotation('satisfy') === 'any') {
    const problem = 'the annotation satisfy: any lets each client in that headgate allows';
    return [found('satisfied-by-headgate', place, problem)];
  }
  if (kind !== 'HTTPProxy') return [];
  const isOff = (place: unknown) => at(place, 'authPolicy', 'disabled') === true;
  // Routes for some paths, such as that of a health check, may stay without limits.
  const isForAll = (route: unknown) =>
    listAt(route, 'conditions').every((each) => textAt(each, 'prefix') === '/');
  const host = at(value, 'spec', 'virtualhost', 'authorization');
  const routes = listAt(value, 'spec', 'routes').filter(isForAll);
  if (![host, ...routes].some(isOff)) return [];
  const problem = 'authPolicy disabled: true passes requests on without asking headgate';
  return [found('upstream-unchecked', place, problem)];
}
