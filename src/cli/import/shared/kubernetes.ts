import type { FilePlace } from '../../proxy-files/file-place.ts';
import { listed } from './texts.ts';
import type { YamlNode } from './yaml-node.ts';

export interface KubernetesObject {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  readonly node: YamlNode;
}

const MAX_DEPTH = 3;

/** The objects of all documents, and those inside lists, as `kubectl get -o yaml` prints them. */
export function objectsIn(documents: readonly YamlNode[], depth = 0): KubernetesObject[] {
  return documents.flatMap((node): KubernetesObject[] => {
    const kind = node.get('kind')?.text;
    if (kind === undefined) return [];
    const items = node.get('items');
    if (/List$/.test(kind) && items !== undefined) {
      return depth < MAX_DEPTH ? objectsIn(items.items(), depth + 1) : [];
    }
    const name = node.get('metadata', 'name')?.text ?? '';
    const namespace = node.get('metadata', 'namespace')?.text ?? 'default';
    return [{ kind, name, namespace, node }];
  });
}

export function annotationsOf({ node }: KubernetesObject): [string, YamlNode][] {
  return node.get('metadata', 'annotations')?.entries() ?? [];
}

export function annotationList(object: KubernetesObject, name: string): string[] {
  const text = annotationsOf(object).find(([key]) => key === name)?.[1].text ?? '';
  return listed(text);
}

export interface IngressPath {
  readonly host: string | undefined;
  readonly written: string;
  /** `Exact`, `Prefix` or `ImplementationSpecific`. */
  readonly type: string;
  readonly backend: string;
  readonly place: FilePlace;
}

export function ingressPaths({ node }: KubernetesObject): IngressPath[] {
  return node.itemsAt('spec', 'rules').flatMap((rule) =>
    rule.itemsAt('http', 'paths').map((path) => ({
      host: rule.get('host')?.text || undefined,
      written: path.get('path')?.text ?? '/',
      type: path.get('pathType')?.text ?? 'ImplementationSpecific',
      backend: path.get('backend', 'service', 'name')?.text ?? '',
      place: path.get('path')?.place ?? path.place,
    })),
  );
}
