import type { FilePlace } from '../../proxy-files/file-place.ts';
import type { YamlNode } from '../shared/yaml-node.ts';

export interface Plugin {
  readonly name: string;
  readonly config: YamlNode | undefined;
  readonly place: FilePlace;
  /** `consumer ann`, if it holds for one consumer or a group alone. */
  readonly consumer?: string | undefined;
  /** An object names it, and it is not in the file. */
  readonly isMissing?: boolean;
}

export interface Route {
  readonly name: string;
  readonly hosts: readonly string[];
  readonly paths: readonly RoutePath[];
  readonly methods: readonly string[];
  /** Conditions that a policy file cannot have: `headers`. */
  readonly others: readonly string[];
  /** The number that decides between regular expressions of routes with as many conditions. */
  readonly regexPriority: number;
  readonly plugins: readonly Plugin[];
  readonly service: Service | undefined;
  readonly place: FilePlace;
}

export interface RoutePath {
  readonly text: string;
  readonly kind: 'prefix' | 'exact' | 'regex';
  readonly place: FilePlace;
}

export interface Service {
  readonly name: string;
  readonly plugins: readonly Plugin[];
}

export interface Entities {
  readonly routes: readonly Route[];
  readonly global: readonly Plugin[];
  /** Plugins that are attached to nothing that can be read. */
  readonly loose: readonly Plugin[];
}
