import type { FilePlace } from '../../proxy-files/file-place.ts';
import { annotationsOf, ingressPaths, type KubernetesObject } from '../shared/kubernetes.ts';
import { onePath, type PathTemplates, templatesOfPath } from '../shared/path-regex.ts';
import { ANY_PATH } from '../shared/paths.ts';
import { listed } from '../shared/texts.ts';

export interface LimitedPath {
  readonly host: string | undefined;
  /** Undefined if a policy file cannot name the path. */
  readonly known: PathTemplates | undefined;
  readonly written: string;
  readonly isExact: boolean;
  readonly place: FilePlace;
}

export function pathsOf(object: KubernetesObject): LimitedPath[] {
  const annotations = annotationsOf(object);
  const has = (name: string) => annotations.find(([key]) => key.endsWith(`/${name}`))?.[1];
  // With either of these, NGINX reads every path of the host as a regular expression.
  const isRegex = has('use-regex')?.isTrue === true || has('rewrite-target') !== undefined;
  const aliases = listed(has('server-alias')?.text ?? '');
  const paths = ingressPaths(object).flatMap(({ host, written, type, place }) => {
    const known = templatesFor(written, type, isRegex);
    const isExact = type === 'Exact' && !isRegex;
    const hosts = host === undefined ? [host] : [host, ...aliases];
    return hosts.map((each) => ({ host: each, written, place, known, isExact }));
  });
  const backend = object.node.get('spec', 'defaultBackend') ?? object.node.get('spec', 'backend');
  if (backend === undefined) return paths;
  const every = { host: undefined, written: '/', isExact: false, place: backend.place };
  return [...paths, { ...every, known: onePath(ANY_PATH) }];
}

function templatesFor(written: string, type: string, isRegex: boolean): PathTemplates | undefined {
  const isPattern = isRegex && (/[[\](){}*+?|^$\\]/.test(written) || type !== 'Prefix');
  const plain = type === 'Exact' && !isRegex ? 'exact' : 'prefix';
  return templatesOfPath(written, isPattern ? 'regex' : plain);
}
