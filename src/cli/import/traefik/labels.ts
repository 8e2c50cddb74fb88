import type { FilePlace } from '../../proxy-files/file-place.ts';
import { listed } from '../shared/texts.ts';
import type { YamlNode } from '../shared/yaml-node.ts';
import {
  entryOf,
  type Middleware,
  type Option,
  type Parts,
  type Router,
  withoutProvider,
} from './parts.ts';

interface Label extends Option {
  readonly path: readonly string[];
}

export function labelParts(document: YamlNode): Parts {
  const services = document.get('services')?.entries() ?? [];
  const labels = services.flatMap(([, service]) => [
    ...labelsOf(service.get('labels')),
    ...labelsOf(service.get('deploy', 'labels')),
  ]);
  return {
    middlewares: middlewaresOf(labels.filter(({ path: [kind] }) => kind === 'middlewares')),
    routers: routersOf(labels.filter(({ path: [kind] }) => kind === 'routers')),
  };
}

/** A map, or a list of `name=value`. In compose files, `$$` is a dollar. */
function labelsOf(node: YamlNode | undefined): Label[] {
  if (node === undefined) return [];
  const written: [string, string, FilePlace][] = node.isMap
    ? node.entries().map(([name, value]) => [name, value.text ?? '', value.place])
    : node.items().map((item) => {
        const [name = '', ...value] = (item.text ?? '').split('=');
        return [name, value.join('='), item.place];
      });
  return written.flatMap(([name, text, place]): Label[] => {
    const [, rest] = /^traefik\.http\.(.*)$/i.exec(name.trim()) ?? [];
    if (rest === undefined) return [];
    return [{ path: rest.split('.'), text: text.trim().replaceAll('$$', '$'), place }];
  });
}

function middlewaresOf(labels: readonly Label[]): Middleware[] {
  const byKind = Map.groupBy(labels, ({ path: [, name = '', kind = ''] }) =>
    JSON.stringify([name, kind.toLowerCase()]),
  );
  return [...byKind].map(([key, group]) => {
    const [name = '', kind = ''] = JSON.parse(key) as string[];
    const options = new Map<string, Option>();
    for (const { path, text, place } of group)
      options.set(path.slice(3).join('.').toLowerCase(), { text, place });
    const chain = listed(options.get('middlewares')?.text ?? '').map(withoutProvider);
    return { name, kind, options, chain, place: group[0]?.place as FilePlace };
  });
}

function routersOf(labels: readonly Label[]): Router[] {
  const byName = Map.groupBy(labels, ({ path: [, name = ''] }) => name);
  return [...byName].map(([name, group]) => {
    const options = new Map(group.map((label) => [label.path[2]?.toLowerCase() ?? '', label]));
    return {
      name,
      rule: options.get('rule')?.text ?? '',
      middlewares: listed(options.get('middlewares')?.text ?? '').map(withoutProvider),
      priority: options.get('priority')?.text,
      entry: entryOf(listed(options.get('entrypoints')?.text ?? ''), options.has('tls')),
      place: (options.get('rule') ?? group[0])?.place as FilePlace,
    };
  });
}
