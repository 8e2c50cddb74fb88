import type { FilePlace } from '../../proxy-files/file-place.ts';
import type { YamlNode } from '../shared/yaml-node.ts';

export interface Option {
  readonly text: string;
  readonly place: FilePlace;
}

/** The options of a middleware, by their path in lower case: `sourcecriterion.ipstrategy.depth`. */
type Options = ReadonlyMap<string, Option>;

export interface Middleware {
  readonly name: string;
  /** In lower case: `ratelimit`, `inflightreq`, `chain`. */
  readonly kind: string;
  readonly options: Options;
  readonly chain: readonly string[];
  readonly place: FilePlace;
}

export interface Router {
  readonly name: string;
  readonly rule: string;
  readonly middlewares: readonly string[];
  /** As it is written; undefined if the longest rule wins. */
  readonly priority: string | undefined;
  /** The entry points and whether it takes HTTPS. Routers of other entry points take none of its requests. */
  readonly entry: string;
  readonly place: FilePlace;
}

export function entryOf(entryPoints: readonly string[], hasTls: boolean): string {
  return [...entryPoints].sort().join() + (hasTls ? ' tls' : '');
}

export interface Parts {
  readonly middlewares: readonly Middleware[];
  readonly routers: readonly Router[];
}

/** `limit@file` is the middleware `limit`. */
export function withoutProvider(name: string): string {
  return name.trim().replace(/@[\w-]+$/, '');
}

export function dynamicParts(document: YamlNode): Parts {
  const http = document.getAnyCase('http');
  const middlewares = http?.getAnyCase('middlewares')?.entries() ?? [];
  const routers = http?.getAnyCase('routers')?.entries() ?? [];
  return {
    middlewares: middlewares.flatMap(([name, node]) => middlewareOf(name, node)),
    routers: routers.map(([name, node]) => routerOf(name, node)),
  };
}

/** `node` is a map from the kind of the middleware to its options. */
export function middlewareOf(name: string, node: YamlNode): Middleware[] {
  return node.entries().map(([kind, options]) => ({
    name,
    kind: kind.toLowerCase(),
    options: optionsOf(options),
    chain: chainOf(options),
    place: node.place,
  }));
}

/** A list of names, or of objects of Kubernetes, whose names the caller completes. */
function chainOf(options: YamlNode): string[] {
  const list = options.getAnyCase('middlewares')?.items() ?? [];
  return list.map((each) => withoutProvider(each.text ?? each.get('name')?.text ?? ''));
}

const MAX_DEPTH = 6;

function optionsOf(node: YamlNode, path = '', depth = 0): Options {
  const options = new Map<string, Option>();
  if (depth > MAX_DEPTH) return options;
  for (const [key, value] of node.entries()) {
    const name = path === '' ? key.toLowerCase() : `${path}.${key.toLowerCase()}`;
    if (value.isMap)
      for (const [inner, option] of optionsOf(value, name, depth + 1)) options.set(inner, option);
    else options.set(name, { text: value.texts().join(','), place: value.place });
    // `ipStrategy: {}` has no options, and is one.
    if (value.isMap && value.entries().length === 0)
      options.set(name, { text: '', place: value.place });
  }
  return options;
}

function routerOf(name: string, node: YamlNode): Router {
  return {
    name,
    rule: node.getAnyCase('rule')?.text ?? '',
    middlewares: (node.getAnyCase('middlewares')?.texts() ?? []).map(withoutProvider),
    priority: node.getAnyCase('priority')?.text,
    entry: entryOf(
      node.getAnyCase('entryPoints')?.texts() ?? [],
      node.getAnyCase('tls') !== undefined,
    ),
    place: node.getAnyCase('rule')?.place ?? node.place,
  };
}
