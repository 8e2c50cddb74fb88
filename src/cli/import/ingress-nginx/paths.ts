/** The hosts and paths of an Ingress. */

import type { FilePlace } from '../../proxy-files/file-place.ts';
import { annotationsOf, type KubernetesObject } from '../shared/kubernetes.ts';
import { templatesOf } from '../shared/path-regex.ts';
import { ANY_PATH, literalPath, pathsBelow } from '../shared/paths.ts';
import type { YamlNode } from '../shared/yaml-node.ts';

export interface IngressPath {
  /** Undefined for every host. */
  readonly host: string | undefined;
  /** Undefined if a policy file cannot name the path. */
  readonly template: string | undefined;
  readonly written: string;
  readonly place: FilePlace;
  readonly note?: string;
}

export function pathsOf(object: KubernetesObject): IngressPath[] {
  const annotations = annotationsOf(object);
  const has = (name: string) => annotations.find(([key]) => key.endsWith(`/${name}`))?.[1];
  // With either of these, NGINX reads every path of the host as a regular expression.
  const isRegex = has('use-regex')?.isTrue === true || has('rewrite-target') !== undefined;
  const rules = object.node.get('spec', 'rules')?.items() ?? [];
  const paths = rules.flatMap((rule) => ofRule(rule, isRegex));
  const backend = object.node.get('spec', 'defaultBackend') ?? object.node.get('spec', 'backend');
  if (backend === undefined) return paths;
  return [...paths, { host: undefined, template: ANY_PATH, written: '/', place: backend.place }];
}

function ofRule(rule: YamlNode, isRegex: boolean): IngressPath[] {
  const host = rule.get('host')?.text;
  const paths = rule.get('http', 'paths')?.items() ?? [];
  return paths.flatMap((path): IngressPath[] => {
    const written = path.get('path')?.text ?? '/';
    const type = path.get('pathType')?.text ?? 'ImplementationSpecific';
    const place = path.get('path')?.place ?? path.place;
    const common = { host: host === '' ? undefined : host, written, place };
    if (type === 'Exact' && !isRegex) return [{ ...common, template: literalPath(written) }];
    const isPattern = isRegex && (/[[\](){}*+?|^$\\]/.test(written) || type !== 'Prefix');
    if (!isPattern) return [{ ...common, template: pathsBelow(written) }];
    const templates = templatesOf(written.startsWith('^') ? written : `^${written}`);
    if (templates === undefined) return [{ ...common, template: undefined }];
    return templates.map((template) => ({ ...common, template }));
  });
}
