import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { found } from '../catalog.ts';
import type { ReadProxyFile } from '../reader.ts';
import { isMap, lineOf, listAt, textAt, type YamlMap, yamlDocuments } from '../yaml.ts';
import { conflictsOf } from './conflicts.ts';
import { type AuthorizerUse, authorizersOf, type KubernetesObject, providersOf } from './kinds.ts';

const MAX_OBJECTS = 5_000;

const KEY = /(?:^|[{,])[ \t]*"?(apiVersion|kind|extensionProviders)"?[ \t]*:/gm;

/** Nothing is compared, because other objects have what belongs to it. */
export const readManifests: ReadProxyFile = ({ file, text }) =>
  isManifest(text) ? { own: manifestFindings(file, text) } : undefined;

export function isManifest(text: string): boolean {
  const keys = new Set([...text.matchAll(KEY)].map(([, key]) => key));
  return (keys.has('apiVersion') && keys.has('kind')) || keys.has('extensionProviders');
}

/** Throws a RangeError with the place if the text is not YAML. */
export function manifestFindings(file: string, text: string): Diagnostic[] {
  const objects = objectsIn(file, text);
  const providers = objects.flatMap(providersOf);
  const uses = objects.flatMap((object) => authorizersOf(object, providers));
  const ours = uses.filter(({ isHeadgate }) => isHeadgate);
  if (ours.length === 0) return [unknown(file, objects, uses)];
  const conflicts = conflictsOf(uses, objects);
  const named = new Set(conflicts.map((each) => each.file));
  const others = uses
    .filter(({ isHeadgate, isProvider, place }) => !isHeadgate && !isProvider && !named.has(place))
    .map(({ place, what, authorizer }) =>
      found('other-authorizer', place, `${what} asks ${authorizer}, and not headgate`),
    );
  const findings = [...conflicts, ...others];
  if (findings.length > 0) return findings;
  const problem = `objects of Kubernetes; headgate is asked by ${ours.map(({ what }) => what).join(', ')}; headers, addresses and secrets were not compared`;
  return [found('proxy-file', file, problem)];
}

function unknown(
  file: string,
  objects: readonly KubernetesObject[],
  [first]: readonly AuthorizerUse[],
): Diagnostic {
  if (first !== undefined) {
    const { place, what, authorizer } = first;
    const problem = `does not ask headgate: ${what} asks ${authorizer}`;
    return found('unknown-proxy-file', place, problem);
  }
  const kinds = [...new Set(objects.map(({ kind }) => kind))];
  const read = kinds.length === 0 ? 'no objects' : kinds.slice(0, MOST_KINDS).join(', ');
  return found('unknown-proxy-file', file, `does not ask headgate; it has ${read} of Kubernetes`);
}

const MOST_KINDS = 5;

function objectsIn(file: string, text: string): KubernetesObject[] {
  return documentsIn(text).flatMap((document) => {
    const isList = textAt(document, 'kind')?.endsWith('List') === true;
    const items = isList ? listAt(document, 'items') : [document];
    return items
      .slice(0, MAX_OBJECTS)
      .filter(isMap)
      .map((item) => objectOf(item, `${file}:${lineOf(item)}`));
  });
}

function documentsIn(text: string): unknown[] {
  try {
    return yamlDocuments(text);
  } catch (error) {
    if (!(error instanceof RangeError) || !text.includes('{{')) throw error;
    throw new RangeError(`${error.message} Render the chart first: helm template`);
  }
}

function objectOf(value: YamlMap, place: string): KubernetesObject {
  return {
    value,
    place,
    kind: textAt(value, 'kind') ?? 'values',
    group: (textAt(value, 'apiVersion') ?? '').replace(/\/.*$/, ''),
    name: textAt(value, 'metadata', 'name') ?? '',
    namespace: textAt(value, 'metadata', 'namespace') ?? '',
  };
}
