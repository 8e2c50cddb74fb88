/** Makes the policies of one server: one for each location whose limits differ from those around it. */
import { lineText } from '../../proxy-files/file-place.ts';
import { type Finding, leftOut } from '../shared/finding.ts';
import type { ImportedPolicy, ImportedRules } from '../shared/imported-limit.ts';
import { ANY_PATH, nearestAround } from '../shared/paths.ts';
import type { Level } from './limits.ts';
import { type LocationLimits, orderFindings } from './locations.ts';
import type { MethodRules, Rules } from './rules.ts';

export interface ServerPolicies {
  readonly whole: ImportedRules | undefined;
  readonly policies: readonly ImportedPolicy[];
  readonly findings: readonly Finding[];
  readonly zones: ReadonlyMap<ImportedPolicy | ImportedRules, readonly string[]>;
}

export interface ServerOptions {
  readonly rules: Rules;
  readonly host: string | undefined;
  /** What holds for requests that no policy matches; undefined if the whole server gives it. */
  readonly fallback: Level | undefined;
  /** Paths of policies for more hosts. In headgate a path counts before a host, so this host needs its own for them. */
  readonly others: ReadonlySet<string>;
}

export function policiesOfServer(
  locations: readonly LocationLimits[],
  { rules, host, fallback, others }: ServerOptions,
): ServerPolicies {
  const findings = [...orderFindings(locations)];
  const zones = new Map<ImportedPolicy | ImportedRules, readonly string[]>();
  const policies: ImportedPolicy[] = [];
  const templates = new Set<string>();
  let whole: ImportedRules | undefined;
  const add = (location: LocationLimits, template: string) => {
    for (const each of rules.of(location.level)) {
      const made = rulesOf(each, location);
      const isDefault = template === ANY_PATH && host === undefined && each.methods === undefined;
      if (isDefault) whole = made.mode === 'off' ? undefined : made;
      const policy = isDefault ? made : policyOf(made, { each, location, template, host });
      zones.set(policy, each.zones);
      if (!isDefault) policies.push(policy as ImportedPolicy);
    }
  };
  for (const [i, location] of locations.entries()) {
    const { template, level, title, place } = location;
    const around = i === 0 ? fallback : (nearestAround(template, locations) ?? locations[0])?.level;
    const isNeeded = template !== undefined && others.has(template);
    if (!isNeeded && around !== undefined && isSame(level, around)) continue;
    if (template === undefined) {
      const why = title.startsWith('location @')
        ? 'headgate sees the path that the client sent, and NGINX comes to this location later. Write policies for the paths that you mean.'
        : 'a policy file has paths such as /login, /users/:id and /files/*. headgate applies the policy of the path around it. Write policies for the paths that you mean.';
      findings.push(leftOut(place, title, why));
    } else if (!templates.has(template)) add(location, template);
    if (template !== undefined) templates.add(template);
  }
  for (const template of others) {
    const around = nearestAround(template, locations) ?? locations[0];
    if (!templates.has(template) && around !== undefined) add(around, template);
  }
  return { whole, policies, findings, zones };
}

function isSame(a: Level, b: Level): boolean {
  const limitsOf = ({ limits }: Level) =>
    JSON.stringify(limits.map(({ zone, burst }) => [zone, burst]));
  if (a.limits.length === 0 && b.limits.length === 0) return true;
  return a.dryRun === b.dryRun && limitsOf(a) === limitsOf(b);
}

function rulesOf({ limits, comments }: MethodRules, location: LocationLimits): ImportedRules {
  if (limits.length === 0) {
    const comment = `${location.title}, ${lineText(location.place)}: not limited`;
    return { limits, mode: 'off', comments: [comment] };
  }
  return { limits, comments, ...(location.level.dryRun ? { mode: 'shadow' as const } : {}) };
}

interface PolicyParts {
  readonly each: MethodRules;
  readonly location: LocationLimits;
  readonly template: string;
  readonly host: string | undefined;
}

function policyOf(
  made: ImportedRules,
  { each, location, template, host }: PolicyParts,
): ImportedPolicy {
  const path = template === ANY_PATH ? undefined : template;
  const name =
    made.mode === 'off' ? `unlimited-${path ?? host ?? 'other'}` : (each.zones[0] ?? 'limit');
  return { ...made, name, match: { methods: each.methods, host, path }, place: location.place };
}
