/** Reads objects of Kubernetes: which of them ask headgate, and which ask another authorizer in its place. */
import { isMap, LineCounter, parseAllDocuments } from 'yaml';
import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { found } from '../catalog.ts';
import type { ReadProxyFile } from '../reader.ts';
import { isMap as isPlainMap, listAt, textAt } from '../yaml-nodes.ts';
import { conflictsOf } from './conflicts.ts';
import { type Asking, askingOf, type KubernetesObject, providersOf } from './kinds.ts';

const MAX_OBJECTS = 5_000;

/** A key at the beginning of a line or of a map in braces. */
const KEY = /(?:^|[{,])[ \t]*"?(apiVersion|kind|extensionProviders)"?[ \t]*:/gm;

/** Nothing is compared, because other objects have what belongs to it. */
export const readManifests: ReadProxyFile = ({ file, text }) =>
  isManifest(text) ? { own: manifestFindings(file, text) } : undefined;

/** Whether the text has objects of Kubernetes, or values with the providers of Istio. */
export function isManifest(text: string): boolean {
  const keys = new Set([...text.matchAll(KEY)].map(([, key]) => key));
  return (keys.has('apiVersion') && keys.has('kind')) || keys.has('extensionProviders');
}

/** Throws a RangeError with the place if the text is not YAML. */
export function manifestFindings(file: string, text: string): Diagnostic[] {
  const objects = objectsIn(file, text);
  const providers = objects.flatMap(providersOf);
  const asking = objects.flatMap((object) => askingOf(object, providers));
  const ours = asking.filter(({ isHeadgate }) => isHeadgate);
  if (ours.length === 0) return [unknown(file, objects, asking)];
  const conflicts = conflictsOf(asking, objects);
  const isNamed = (each: Asking) => conflicts.some(({ file }) => file === each.place);
  const others = asking
    .filter((each) => !each.isHeadgate && !each.isProvider && !isNamed(each))
    .map(({ place, what, authorizer }) =>
      found('other-authorizer', place, `${what} asks ${authorizer}, and not headgate`),
    );
  const findings = [...conflicts, ...others];
  if (findings.length > 0) return findings;
  const names = ours.map(({ what }) => what).join(', ');
  return [
    found(
      'proxy-file',
      file,
      `objects of Kubernetes; headgate is asked by ${names}; headers, addresses and secrets were not compared`,
    ),
  ];
}

function unknown(
  file: string,
  objects: readonly KubernetesObject[],
  asking: readonly Asking[],
): Diagnostic {
  const [first] = asking;
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
  const lineCounter = new LineCounter();
  const objects: KubernetesObject[] = [];
  for (const document of parseAllDocuments(text, { lineCounter })) {
    const [error] = document.errors;
    if (error !== undefined) throw new RangeError(problemOf(error.message, text));
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    const isList = textAt(value, 'kind')?.endsWith('List') === true;
    const items = isList ? listAt(value, 'items') : [value];
    for (const [i, item] of items.slice(0, MAX_OBJECTS).entries()) {
      const node = isList ? document.getIn(['items', i]) : document.contents;
      const start = isMap(node) ? (node.range?.[0] ?? 0) : 0;
      const place = `${file}:${lineCounter.linePos(start).line}`;
      if (isPlainMap(item)) objects.push(objectOf(item, place));
    }
  }
  return objects;
}

function objectOf(value: Readonly<Record<string, unknown>>, place: string): KubernetesObject {
  return {
    value,
    place,
    kind: textAt(value, 'kind') ?? 'values',
    group: (textAt(value, 'apiVersion') ?? '').replace(/\/.*$/, ''),
    name: textAt(value, 'metadata', 'name') ?? '',
    namespace: textAt(value, 'metadata', 'namespace') ?? '',
  };
}

function problemOf(message: string, text: string): string {
  const [first = ''] = message.split('\n', 1);
  return text.includes('{{') ? `${first} Render the chart first: helm template` : first;
}
