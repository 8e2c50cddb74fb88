/** Kubernetes objects in YAML documents. */
import type { YamlNode } from './yaml-node.ts';

export interface KubernetesObject {
  readonly kind: string;
  readonly name: string;
  /** `default` if it has none. */
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

/** Annotations by name. */
export function annotationsOf({ node }: KubernetesObject): [string, YamlNode][] {
  return node.get('metadata', 'annotations')?.entries() ?? [];
}
