/** Regions that Envoy's files for HTTP and for gRPC share. */

import { isSentByClients } from './client-headers.ts';
import { type Conditions, passesExpression } from './failure-expression.ts';
import { targetPattern } from './failure-keys.ts';
import type { FailureRules } from './gateway-failure.ts';
import type { WriteRegion } from './regions.ts';
import { type Address, type Edits, uncommentedWith, type WriterInput } from './writer.ts';

/** Undefined for a unix socket: clusters of the type STRICT_DNS cannot use one. */
export function socketAddress(address: Address): string | undefined {
  if ('socket' in address) return undefined;
  const { host } = address;
  return `socket_address: { address: ${host.includes(':') ? `"${host}"` : host}, port_value: ${address.port} }`;
}

export function listenerEdits(port: number): Edits {
  const at = (number: number) => `{ address: 0.0.0.0, port_value: ${number} }`;
  return { [at(8000)]: at(port) };
}

/** `alwaysSent`: names of headers that need no line in a region. */
export function envoyRegions(
  { headers: { passed, owned }, failure, sendsSecret }: WriterInput,
  alwaysSent: readonly string[],
): Readonly<Record<string, WriteRegion>> {
  return {
    'client headers': () => [
      ...listed(passed, alwaysSent).map(allowed),
      ...owned.flatMap((name) => [
        `# An earlier filter must set ${name}, or remove the client's. Then add this line:`,
        `#${allowed(name)}`,
      ]),
    ],
    'identifying headers': () => refusedUnlessUtf8(passed.filter(isSentByClients)),
    'proxy secret': uncommentedWith(sendsSecret),
    'refused without the gateway': () => refusedWithout(failure),
  };
}

/** Envoy refuses an empty list. If there is nothing to list, this lists headers that it sends anyway. */
function listed(passed: readonly string[], alwaysSent: readonly string[]): readonly string[] {
  const needed = passed.filter((name) => !alwaysSent.includes(name));
  return needed.length > 0 ? needed : alwaysSent;
}

function allowed(name: string): string {
  return `- { exact: ${yamlName(name)}, ignore_case: true }`;
}

/** Without quotes, YAML would read some names as numbers or booleans. */
function yamlName(name: string): string {
  return /^[a-z][a-z0-9]*-[a-z0-9-]+$/.test(name) ? name : `"${name}"`;
}

/** Regular expressions of newer Envoys match bytes, those of older ones characters. Neither matches a lone byte A0 here. */
const UTF_8 =
  '([^\\x80-\\xff]|[\\xc2-\\xdf][\\x80-\\xbf]|[\\xe0-\\xef][\\x80-\\xbf]{2}|[\\xf0-\\xf4][\\x80-\\xbf]{3})*';

/** Permissions of the role-based access control filter. It refuses requests that match one; an absent header matches none. */
function refusedUnlessUtf8(names: readonly string[]): string[] {
  if (names.length === 0) return [NOTHING];
  const matcher = `string_match: { safe_regex: { regex: '${UTF_8}' } }, invert_match: true`;
  return names.map((name) => `- { header: { name: ${yamlName(name)}, ${matcher} } }`);
}

/** A permission that no request matches. */
const NOTHING = '- { not_rule: { any: true } }';

/** Permissions of the role-based access control filter. It refuses requests that match all of them. */
function refusedWithout(failure: FailureRules | undefined): string[] {
  if (failure === undefined) return [NOTHING];
  const { method, rules } = failure;
  return [
    ...(method === undefined ? [] : [`- { ${header(':method', method)} }`]),
    `- { ${PERMISSIONS.not(passesExpression(rules, PERMISSIONS) ?? 'any: true')} }`,
  ];
}

const PERMISSIONS: Conditions = {
  matches({ method, host, path }) {
    const conditions = [
      ...(method === undefined ? [] : [header(':method', method)]),
      ...(host === undefined ? [] : [header(':authority', host)]),
      ...(path === undefined ? [] : [header(':path', targetPattern(path))]),
    ];
    return conditions.length === 0 ? 'any: true' : PERMISSIONS.and(conditions);
  },
  not: (condition) => `not_rule: { ${condition} }`,
  and: (conditions) => listOf('and_rules', conditions),
  or: (conditions) => listOf('or_rules', conditions),
};

function listOf(kind: 'and_rules' | 'or_rules', conditions: readonly string[]): string {
  if (conditions.length === 1) return String(conditions[0]);
  const rules = conditions.map((condition) => `{ ${condition} }`);
  return `${kind}: { rules: [${rules.join(', ')}] }`;
}

/** The whole value, ignoring case. */
function header(name: string, pattern: string): string {
  return `header: { name: "${name}", string_match: { safe_regex: { regex: "(?i)${pattern}" } } }`;
}
