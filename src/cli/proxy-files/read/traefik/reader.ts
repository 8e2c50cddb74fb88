import { found } from '../catalog.ts';
import { filesOnDisk } from '../proxy-files.ts';
import { type ProxyFacts, type ReadFile, type ReadProxyFile, SECRET_HEADER } from '../reader.ts';
import { isMap, listAt, mapsWith, textAt, yamlDocument } from '../yaml.ts';
import { traefikRewrites } from './rewrites.ts';
import { leadsToHeadgate, routingsIn } from './routers.ts';
import { type TraefikStart, traefikRoutes, traefikSites, traefikStart } from './routes.ts';

export const readTraefik: ReadProxyFile = ({ file, path, text }) => {
  const start = /^entryPoints:/m.test(text) ? traefikStart(yamlOf(text)) : undefined;
  if (start === undefined) return readRouters(file, text);
  const files = filesOnDisk(path, text);
  const [routers] = files.paths(start.routers).map(files.read);
  const { name, text: inner } = routers ?? { name: start.routers, text: '' };
  const read = readRouters(name, inner, start);
  if (read !== undefined) return { ...read, file: name, text: inner };
  return { own: [found('unknown-proxy-file', name, 'does not ask headgate')] };
};

function readRouters(file: string, text: string, start?: TraefikStart): ReadFile | undefined {
  if (!text.includes('forwardAuth')) return undefined;
  if (TOML_TABLE.test(text)) throw new RangeError(`is TOML; headgate doctor reads ${READ}`);
  const yaml = yamlOf(text);
  const facts = factsOf(yaml);
  if (facts === undefined) return undefined;
  const routings = routingsIn(yaml, file);
  return {
    facts,
    sites: traefikSites(routings),
    routes: traefikRoutes(routings, start),
    rewrites: traefikRewrites(routings),
  };
}

function factsOf(yaml: unknown): ProxyFacts | undefined {
  const values = (key: string) => mapsWith(yaml, key).map((map) => map[key]);
  const check = values('forwardAuth').find(leadsToHeadgate);
  if (check === undefined) return undefined;
  const listed = listAt(check, 'authRequestHeaders').map((name) => String(name).toLowerCase());
  const set = values('customRequestHeaders').filter(isMap).flatMap(Object.entries);
  const url = new URL(textAt(check, 'address') ?? '');
  const servers = values('services').flatMap((map) =>
    listAt(map, 'headgate', 'loadBalancer', 'servers'),
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
    // Without the second way through Traefik, ForwardAuth refuses.
    refusesAll: !values('failover').some(isMap),
  };
}

const READ = "Traefik's routers in YAML only";
const TOML_TABLE = /^[ \t]*\[\[?(http|tcp)\.[\w.-]+\]\]?[ \t]*$/m;

export const readOtherTraefik: ReadProxyFile = ({ file, text }) => {
  const problem = otherTraefikFile(text);
  return problem === undefined ? undefined : { own: [found('unknown-proxy-file', file, problem)] };
};

export function otherTraefikFile(text: string): string | undefined {
  if (/^[^#\n]*\btraefik\.http\.\w+\./m.test(text))
    return `has labels of Traefik; headgate doctor reads ${READ}`;
  if (!/^entryPoints:/m.test(text)) return undefined;
  return 'is the file with which Traefik starts; name the one with its routers';
}

/** Traefik fills in templates of Go before it reads a file. Here they become words, and lines of them comments. */
function yamlOf(text: string): unknown {
  const plain = text
    .replaceAll(/^[ \t]*\{\{.*\}\}[ \t]*$/gm, '#')
    .replaceAll(/\{\{[^{}\n]*\}\}/g, (each) => `template${each.replaceAll(/\W+/g, '-')}`);
  return yamlDocument(plain);
}
