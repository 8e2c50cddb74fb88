import type { FilePlace } from '../../proxy-files/file-place.ts';
import { annotationsOf, ingressPaths, type KubernetesObject } from '../shared/kubernetes.ts';
import { templatesOfPath } from '../shared/path-regex.ts';
import { ANY_PATH } from '../shared/paths.ts';

export interface LimitedPath {
  readonly host: string | undefined;
  readonly template: string | undefined;
  readonly written: string;
  readonly place: FilePlace;
}

export function pathsOf(object: KubernetesObject): LimitedPath[] {
  const annotations = annotationsOf(object);
  const has = (name: string) => annotations.find(([key]) => key.endsWith(`/${name}`))?.[1];
  // With either of these, NGINX reads every path of the host as a regular expression.
  const isRegex = has('use-regex')?.isTrue === true || has('rewrite-target') !== undefined;
  const paths = ingressPaths(object).flatMap(({ host, written, type, place }) =>
    templatesFor(written, type, isRegex).map((template) => ({ host, written, place, template })),
  );
  const backend = object.node.get('spec', 'defaultBackend') ?? object.node.get('spec', 'backend');
  if (backend === undefined) return paths;
  return [...paths, { host: undefined, template: ANY_PATH, written: '/', place: backend.place }];
}

function templatesFor(
  written: string,
  type: string,
  isRegex: boolean,
): readonly (string | undefined)[] {
  const isPattern = isRegex && (/[[\](){}*+?|^$\\]/.test(written) || type !== 'Prefix');
  const plain = type === 'Exact' && !isRegex ? 'exact' : 'prefix';
  return templatesOfPath(written, isPattern ? 'regex' : plain) ?? [undefined];
}
