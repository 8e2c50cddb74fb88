import { type Condition, readRule } from '../../proxy-files/traefik-rule.ts';
import { type PathTemplates, templatesOf, templatesOfPath } from '../shared/path-regex.ts';
import { ANY_PATH, hostOf } from '../shared/paths.ts';
import { countedMethods, overlap, type RequestSet } from '../shared/request-set.ts';

interface RuleMatch extends RequestSet {
  /** What a policy file cannot have. */
  readonly condition: string | undefined;
  readonly isNarrower: boolean;
}

interface RuleMatches {
  readonly matches: readonly RuleMatch[];
  /** Why parts of the rule of a limited router are not among the matches. */
  readonly leftOut: readonly string[];
}

const UNREADABLE = 'it cannot be read as a rule, or has too many alternatives';
const HEAD = 'headgate counts HEAD as GET';

/** A rule without limits takes an unknown part of the requests of others, if a policy file cannot name its requests. */
export function matchesOf(rule: string, isLimited: boolean): RuleMatches {
  const alternatives = readRule(rule);
  if (alternatives === undefined) {
    const unknown = { ...EVERY, condition: `the rule ${rule}`, isNarrower: false };
    return isLimited ? { matches: [], leftOut: [UNREADABLE] } : { matches: [unknown], leftOut: [] };
  }
  const found = alternatives.map((each) => matchOf(each, isLimited));
  const leftOut = found.filter((each) => typeof each === 'string');
  const matches = byMethods(found.flatMap((each) => (typeof each === 'string' ? [] : each)));
  const counted = matches.map((each) => ({
    ...each,
    methods: each.methods && countedMethods(each.methods),
  }));
  const named = counted.filter(({ methods }) => methods?.length !== 0);
  if (named.length < counted.length) leftOut.push(HEAD);
  return { matches: named, leftOut: isLimited ? [...new Set(leftOut)] : [] };
}

interface Meaning {
  readonly sets: readonly RequestSet[];
  readonly isWider?: boolean;
  readonly isNarrower?: boolean;
}

const EVERY: RequestSet = { host: undefined, template: ANY_PATH };

function matchOf(conditions: readonly Condition[], isLimited: boolean): RuleMatch[] | string {
  let sets: readonly RequestSet[] = [EVERY];
  let isNarrower = false;
  const unlike: string[] = [];
  for (const condition of conditions) {
    const meaning = meaningOf(condition);
    if (meaning === 'unnameable' && isLimited)
      return `a policy file cannot have ${textOf(condition)}: it has hosts such as api.example.com and *.example.com, and paths such as /login, /users/:id and /files/*`;
    if (typeof meaning === 'string' || meaning.isWider === true) unlike.push(textOf(condition));
    if (typeof meaning === 'string') continue;
    sets = sets.flatMap((set) => meaning.sets.flatMap((each) => overlap(set, each) ?? []));
    isNarrower ||= meaning.isNarrower === true;
  }
  const [first] = sets;
  if (isLimited && first === EVERY && unlike.length > 0)
    return `a policy file cannot have ${unlike.join(' && ')}`;
  const condition = unlike.length === 0 ? undefined : [...new Set(unlike)].join(', ');
  return sets.map((set) => ({ ...set, condition, isNarrower }));
}

function textOf({ name, args, isNegated }: Condition): string {
  return `${isNegated ? '!' : ''}${name}(${args.map((arg) => `\`${arg}\``).join(', ')})`;
}

function meaningOf({ name, args: [arg = ''], isNegated }: Condition): Meaning | string {
  if (isNegated) return 'ignored';
  switch (name) {
    case 'Host':
    case 'HostHeader':
    case 'HostSNI':
      return hostMeaning(arg);
    case 'HostRegexp':
      return hostMeaning(plainHost(arg), !/^[a-z0-9.\\^$-]+$|\.[+*]/i.test(arg));
    case 'Path':
      return pathMeaning(
        arg.includes('{') ? templatesOf(`^${withoutNames(arg)}$`) : templatesOfPath(arg, 'exact'),
      );
    case 'PathPrefix':
      return pathMeaning(
        arg.includes('{') ? templatesOf(`^${withoutNames(arg)}`) : templatesOfPath(arg, 'prefix'),
      );
    case 'PathRegexp':
      return pathMeaning(templatesOf(arg));
    case 'Method':
      return /^[A-Za-z-]{1,32}$/.test(arg)
        ? { sets: [{ ...EVERY, methods: [arg.toUpperCase()] }] }
        : 'unnameable';
    default:
      return 'ignored';
  }
}

function hostMeaning(text: string, isWider = false): Meaning | string {
  const host = hostOf(text);
  return host === undefined ? 'unnameable' : { sets: [{ ...EVERY, host }], isWider };
}

function pathMeaning(found: PathTemplates | undefined): Meaning | string {
  if (found === undefined) return 'unnameable';
  const { templates, ...rest } = found;
  return { ...rest, sets: templates.map((template) => ({ ...EVERY, template })) };
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
      /^(?:\.[*+]|\[\^\/\]\+)$/.test(inside) ? inside : '\\w+',
    )
    .replaceAll(/\{\w+\}/g, '[^/]+')
    .replaceAll(/(?<![*\]])\.(?![*+])/g, '\\.');
}

/** Alternatives that differ by their method are one match with several methods. */
function byMethods(matches: readonly RuleMatch[]): RuleMatch[] {
  const merged = new Map<string, RuleMatch>();
  for (const match of matches) {
    const key = JSON.stringify([match.host, match.template, match.condition]);
    const known = merged.get(key);
    const methods =
      known === undefined
        ? match.methods
        : known.methods && match.methods && [...new Set([...known.methods, ...match.methods])];
    merged.set(key, { ...match, methods });
  }
  return [...merged.values()];
}
