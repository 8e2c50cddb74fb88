import { type Condition, readRule } from '../../proxy-files/traefik-rule.ts';
import { templatesOf } from '../shared/path-regex.ts';
import { ANY_PATH, covers, hostOf, literalPath, pathsBelow } from '../shared/paths.ts';

interface RuleMatch {
  readonly host: string | undefined;
  readonly template: string;
  readonly methods: readonly string[] | undefined;
  /** Conditions that a policy file cannot have: the policy applies whether they hold or not. */
  readonly ignored: readonly string[];
}

/** A text says why a policy file cannot have the rule. */
type RuleMatches = readonly RuleMatch[] | string;

export function matchesOf(rule: string): RuleMatches {
  const alternatives = readRule(rule);
  if (alternatives === undefined)
    return 'it cannot be read as a rule, or has too many alternatives';
  const matches: RuleMatch[] = [];
  for (const alternative of alternatives) {
    const found = matchOf(alternative);
    if (typeof found === 'string') return found;
    matches.push(...found);
  }
  return byMethods(matches);
}

type Meaning =
  | { readonly host: string }
  | { readonly templates: readonly string[] }
  | { readonly method: string }
  | 'ignored'
  | 'unnameable';

function matchOf(conditions: readonly Condition[]): RuleMatches {
  let host: string | undefined;
  let templates: readonly string[] | undefined;
  let method: string | undefined;
  const ignored: string[] = [];
  for (const condition of conditions) {
    const meaning = meaningOf(condition);
    const written = `${condition.isNegated ? '!' : ''}${condition.name}(${condition.args.map((arg) => `\`${arg}\``).join(', ')})`;
    if (meaning === 'ignored') ignored.push(written);
    else if (meaning === 'unnameable')
      return `a policy file cannot have ${written}: it has hosts such as api.example.com and *.example.com, and paths such as /login, /users/:id and /files/*`;
    else if ('host' in meaning) {
      if (host !== undefined && host !== meaning.host) return [];
      host = meaning.host;
    } else if ('method' in meaning) method = meaning.method;
    else templates = narrower(templates, meaning.templates);
  }
  const isEverything = host === undefined && templates === undefined && method === undefined;
  if (isEverything && ignored.length > 0)
    return `a policy file cannot have ${ignored.join(' && ')}`;
  const methods = method === undefined ? undefined : [method];
  return (templates ?? [ANY_PATH]).map((template) => ({ host, template, methods, ignored }));
}

function meaningOf({ name, args: [arg = ''], isNegated }: Condition): Meaning {
  if (isNegated) return 'ignored';
  switch (name) {
    case 'Host':
    case 'HostHeader':
    case 'HostSNI':
      return hostMeaning(arg);
    case 'HostRegexp':
      return hostMeaning(plainHost(arg));
    case 'Path':
      return templatesMeaning(
        arg.includes('{') ? templatesOf(`^${withoutNames(arg)}$`) : literalPath(arg),
      );
    case 'PathPrefix':
      return templatesMeaning(
        arg.includes('{') ? templatesOf(`^${withoutNames(arg)}`) : pathsBelow(arg),
      );
    case 'PathRegexp':
      return templatesMeaning(templatesOf(arg));
    case 'Method':
      return /^[A-Za-z-]{1,32}$/.test(arg) ? { method: arg.toUpperCase() } : 'unnameable';
    default:
      return 'ignored';
  }
}

function hostMeaning(text: string): Meaning {
  const host = hostOf(text);
  return host === undefined ? 'unnameable' : { host };
}

function templatesMeaning(found: readonly string[] | string | undefined): Meaning {
  return found === undefined ? 'unnameable' : { templates: [found].flat() };
}

/** `^.+\.example\.com$` and `{sub:.+}.example.com` as `*.example.com`. */
function plainHost(expression: string): string {
  const [, domain = ''] =
    /^\^?(?:\.[+*]|\[\^\.\]\+|\[a-z0-9-\]\+|\[\\w-\]\+|\{\w*(?::[^{}]*)?\})\\?\.((?:[a-z0-9-]|\\?\.)+)\$?$/i.exec(
      expression,
    ) ?? [];
  return domain === ''
    ? expression.replaceAll('\\.', '.').replace(/^\^|\$$/g, '')
    : `*.${domain.replaceAll('\\.', '.')}`;
}

/** `/users/{id:[0-9]+}` of version 2 as an expression. */
function withoutNames(path: string): string {
  return path
    .replaceAll(/\{\w+:([^{}]*)\}/g, (_, inside: string) =>
      inside === '.*' || inside === '.+' ? inside : '[^/]+',
    )
    .replaceAll(/\{\w+\}/g, '[^/]+')
    .replaceAll(/(?<![*\]])\.(?![*+])/g, '\\.');
}

/** Both paths of an alternative must match. */
function narrower(
  known: readonly string[] | undefined,
  more: readonly string[],
): readonly string[] {
  if (known === undefined) return more;
  return [
    ...known.filter((path) => more.some((other) => covers(other, path))),
    ...more.filter((path) => known.some((other) => other !== path && covers(other, path))),
  ];
}

/** Alternatives that differ by their method are one match with several methods. */
function byMethods(matches: readonly RuleMatch[]): RuleMatch[] {
  const merged = new Map<string, RuleMatch>();
  for (const match of matches) {
    const key = JSON.stringify([match.host, match.template, match.ignored]);
    const known = merged.get(key);
    const methods =
      known === undefined
        ? match.methods
        : known.methods && match.methods && [...new Set([...known.methods, ...match.methods])];
    merged.set(key, { ...match, methods });
  }
  return [...merged.values()];
}
