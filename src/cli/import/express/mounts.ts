/** Where routers of a program are mounted: app.use('/api', router). */
import type { Program } from './program.ts';
import type { Registration } from './registrations.ts';

export interface Prefixes {
  /** The paths under which a router is mounted. An application has the empty one. */
  of(receiver: string): readonly string[];
  /** Whether it is a router that this program does not mount. */
  isLoose(receiver: string): boolean;
}

const MAX_DEPTH = 10;
const MAX_PREFIXES = 20;

export function prefixesOf(program: Program, registrations: readonly Registration[]): Prefixes {
  const routers = routerNames(program);
  const mounts = new Map<string, { readonly parent: string; readonly path: string }[]>();
  for (const { receiver, verb, paths, names } of registrations) {
    if (verb !== 'use') continue;
    for (const name of names.filter((each) => routers.has(each))) {
      const written = paths?.map(({ text, isRegex }) => (isRegex ? undefined : text)) ?? [''];
      const known = mounts.get(name) ?? [];
      for (const path of written) if (path !== undefined) known.push({ parent: receiver, path });
      mounts.set(name, known);
    }
  }
  const prefixes = (receiver: string, depth: number): readonly string[] => {
    const found = mounts.get(receiver) ?? [];
    if (found.length === 0 || depth > MAX_DEPTH) return [''];
    const all = found.flatMap(({ parent, path }) =>
      prefixes(parent, depth + 1).map((prefix) => prefix + path.replace(/\/+$/, '')),
    );
    return [...new Set(all)].slice(0, MAX_PREFIXES);
  };
  return {
    of: (receiver) => prefixes(receiver, 0),
    isLoose: (receiver) => routers.has(receiver) && !mounts.has(receiver),
  };
}

/** `const router = express.Router()`, `const router = Router()` */
function routerNames(program: Program): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [i, { kind, text }] of program.tokens.entries()) {
    if (kind !== 'name' || text !== 'Router' || program.sign(i + 1) !== '(') continue;
    let at = i - 1;
    if (program.sign(at) === '.') at -= 2;
    if (program.name(at) === 'new') at--;
    const name = program.sign(at) === '=' ? program.name(at - 1) : undefined;
    if (name !== undefined) names.add(name);
  }
  return names;
}
