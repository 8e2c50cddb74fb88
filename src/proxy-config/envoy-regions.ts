/** The regions that Envoy's files for HTTP and for gRPC have in common. */

import { type Conditions, passesExpression } from './failure-expression.ts';
import { targetPattern } from './failure-keys.ts';
import type { FailureRules } from './gateway-failure.ts';
import type { WriteRegion } from './regions.ts';
import { type Address, uncommentedWith, type WriterInput } from './writer.ts';

/** Not of a unix socket: clusters of the type STRICT_DNS have none. */
export function socketAddress(address: Address): string | undefined {
  if ('socket' in address) return undefined;
  const { host } = address;
  return `socket_address: { address: ${host.includes(':') ? `"${host}"` : host}, port_value: ${address.port} }`;
}

/** `alwaysSent`: names of headers that need no line of their own. */
export function envoyRegions(
  { headers: { passed, owned }, failure, sendsSecret }: WriterInput,
  alwaysSent: readonly string[],
): Readonly<Record<string, WriteRegion>> {
  return {
    'client headers': () => [
      ...listed(passed, alwaysSent).map(allowed),
      ...owned.flatMap((name) => [
        `# A filter before this one must set ${name}, or remove the client's own. Then add this line:`,
        `#${allowed(name)}`,
      ]),
    ],
    'proxy secret': uncommentedWith(sendsSecret),
    'refused without the gateway': () => refusedWithout(failure),
  };
}

/** Envoy refuses an empty list: one of those that it always sends stands in it then. */
function listed(passed: readonly string[], alwaysSent: readonly string[]): readonly string[] {
  const needed = passed.filter((name) => !alwaysSent.includes(name));
  return needed.length > 0 ? needed : alwaysSent;
}

function allowed(name: string): string {
  return `- { exact: ${name}, ignore_case: true }`;
}

/** Permissions of the role-based access control filter, which refuses what all of them match. */
function refusedWithout(failure: FailureRules | undefined): string[] {
  if (failure === undefined) return ['- { not_rule: { any: true } }'];
  const { method, rules } = failure;
  return [
    ...(method === undefined ? [] : [`- { ${header(':method', method)} }`]),
    `- { ${PERMISSIONS.not(passesExpression(rules, PERMISSIONS) ?? 'any: true')} }`,
  ];
}

const PERMISSIONS: Conditions = {
  matches({ method, host, path }) {
    const [first = 'any: true', ...others] = [
      ...(method === undefined ? [] : [header(':method', method)]),
      ...(host === undefined ? [] : [header(':authority', host)]),
      ...(path === undefined ? [] : [header(':path', targetPattern(path))]),
    ];
    return others.reduce(PERMISSIONS.and, first);
  },
  not: (condition) => `not_rule: { ${condition} }`,
  and: (first, second) => `and_rules: { rules: [{ ${first} }, { ${second} }] }`,
  or: (first, second) => `or_rules: { rules: [{ ${first} }, { ${second} }] }`,
};

/** The whole value, ignoring case. */
function header(name: string, pattern: string): string {
  return `header: { name: "${name}", string_match: { safe_regex: { regex: "(?i)${pattern}" } } }`;
}
