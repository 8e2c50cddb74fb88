/** Reads a file of Traefik with routers, services and middlewares. */
import { type ProxyFacts, SECRET_HEADER } from './facts.ts';
import { at, isMap, listAt, textAt, type YamlMap, yamlMaps } from './yaml-nodes.ts';

export function traefikFacts(text: string): ProxyFacts | undefined {
  if (!text.includes('forwardAuth')) return undefined;
  if (TOML_TABLE.test(text)) throw new RangeError(`is TOML; headgate doctor reads ${READ}`);
  const maps = yamlMaps(withoutTemplates(text));
  const check = maps.map((map) => map.forwardAuth).find(asksHeadgate);
  if (check === undefined) return undefined;
  const listed = listAt(check, 'authRequestHeaders').map((name) => String(name).toLowerCase());
  const set = maps.flatMap((map) => entriesOf(map.customRequestHeaders));
  const url = new URL(textAt(check, 'address') ?? '');
  const viaItself = maps.flatMap((map) => entriesOf(at(map.services, 'headgate', 'loadBalancer')));
  const servers = viaItself.flatMap(([name, list]) =>
    name === 'servers' && Array.isArray(list) ? list : [],
  );
  return {
    proxy: 'traefik',
    passed: listed.length === 0 ? 'all' : new Set(listed),
    owned: new Set(set.map(([name]) => name.toLowerCase())),
    secret: set
      .filter(([name]) => name.toLowerCase() === SECRET_HEADER)
      .map(([, value]) => String(value))
      .find((value) => value !== ''),
    gateways:
      servers.length === 0
        ? [url.host]
        : servers.flatMap((server) => textAt(server, 'url')?.replace(/^https?:\/\//, '') ?? []),
    losesDenials: false,
    // Without the second way through Traefik, ForwardAuth refuses.
    refusesAll: !maps.some((map) => isMap(map.failover)),
  };
}

const READ = "Traefik's routers in YAML only";
const TOML_TABLE = /^[ \t]*\[\[?(http|tcp)\.[\w.-]+\]\]?[ \t]*$/m;

/** Why a file of Traefik has nothing to examine. Undefined: it is none. */
export function otherTraefikFile(text: string): string | undefined {
  if (/\btraefik\.http\.\w+\./.test(text))
    return `has labels of Traefik; headgate doctor reads ${READ}`;
  if (!/^entryPoints:/m.test(text)) return undefined;
  return 'is the file with which Traefik starts; name the one with its routers';
}

/** Traefik fills in templates of Go before it reads a file. Their text becomes a word, and lines of them comments. */
export function withoutTemplates(text: string): string {
  return text
    .replaceAll(/^[ \t]*\{\{.*\}\}[ \t]*$/gm, '#')
    .replaceAll(/\{\{[^{}\n]*\}\}/g, (each) => `template${each.replaceAll(/\W+/g, '-')}`);
}

/** Whether a `forwardAuth` is the check of headgate. */
export function asksHeadgate(forwardAuth: unknown): boolean {
  return /\/traefik\/?$/.test(textAt(forwardAuth, 'address') ?? '');
}

function entriesOf(value: unknown): [string, unknown][] {
  return isMap(value) ? Object.entries(value as YamlMap) : [];
}
