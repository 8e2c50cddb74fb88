import { isMcpHeader } from '../../../gateway/core/mcp/mcp-call.ts';
import type { Address } from '../proxy-address.ts';
import { type Conditions, conditionsOf, passesExpression } from './failure-conditions.ts';
import type { FailureRules } from './gateway-failure.ts';
import type { WriteRegion } from './regions.ts';
import { type Edits, uncommentedWith, type Writer, type WriterInput } from './writer.ts';

/** The headers `alwaysSent` need no line in a region. */
function envoyWriter(file: string, gatewayPort: number, alwaysSent: readonly string[]): Writer {
  const local = (port: number) => `socket_address: { address: 127.0.0.1, port_value: ${port} }`;
  return {
    file,
    gateway: { shipped: local(gatewayPort), write: socketAddress },
    application: { shipped: local(3000), write: socketAddress },
    listener: '{ address: 0.0.0.0, port_value: 8000 }',
    regions: (input) => envoyRegions(input, alwaysSent),
  };
}

const ONE_HOP: Edits = {
  'use_remote_address: true': 'use_remote_address: true\n                xff_num_trusted_hops: 1',
};

export const envoy: Writer = {
  // Envoy sends this header without being told to.
  ...envoyWriter('envoy/envoy.yaml', 8080, ['authorization']),
  loadBalancer: () => ({ 'envoy/envoy.yaml': ONE_HOP }),
};

const ALWAYS_SENT_OVER_GRPC = ['authorization', 'x-forwarded-for', 'x-request-id'];

export const envoyGrpc: Writer = {
  ...envoyWriter('envoy/envoy-grpc.yaml', 8081, ALWAYS_SENT_OVER_GRPC),
  grpc: true,
  regions: (input) => ({
    ...envoyRegions(input, ALWAYS_SENT_OVER_GRPC),
    'metadata of filters': () => metadataLines(input.metadata),
  }),
};

/** Undefined for a unix socket: clusters of the type STRICT_DNS cannot use one. */
function socketAddress(address: Address): string | undefined {
  if ('socket' in address) return undefined;
  const { host } = address;
  return `socket_address: { address: ${host.includes(':') ? `"${host}"` : host}, port_value: ${address.port} }`;
}

function envoyRegions(
  { headers: { passed, owned, counted }, failure, sendsSecret }: WriterInput,
  alwaysSent: readonly string[],
): Readonly<Record<string, WriteRegion>> {
  return {
    'client headers': () => [
      ...passed.filter((name) => !alwaysSent.includes(name)).map(allowed),
      ...owned.flatMap((name) => [
        isMcpHeader(name)
          ? `# Only with all parts of deploy/envoy/mcp.yaml that begin with "# mcp:", ${name} says what the body says. Then add this line:`
          : `# An earlier filter must set ${name}, or remove the client's. Then add this line:`,
        `#${allowed(name)}`,
      ]),
    ],
    'identifying headers': () => refusedUnlessUtf8(counted),
    'proxy secret': uncommentedWith(sendsSecret),
    'refused without the gateway': () => refusedWithout(failure),
  };
}

function metadataLines(namespaces: readonly string[]): string[] {
  if (namespaces.length === 0) return [];
  return [
    '# Filters before this one write this metadata. No value in it may be one that clients choose.',
    `metadata_context_namespaces: [${namespaces.map((each) => JSON.stringify(each)).join(', ')}]`,
  ];
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

/** These are permissions of the RBAC filter, which refuses requests that match one. An absent header matches none. */
function refusedUnlessUtf8(names: readonly string[]): string[] {
  if (names.length === 0) return [NOTHING];
  const matcher = `string_match: { safe_regex: { regex: '${UTF_8}' } }, invert_match: true`;
  return names.map((name) => `- { header: { name: ${yamlName(name)}, ${matcher} } }`);
}

const NOTHING = '- { not_rule: { any: true } }';

/** These are permissions of the RBAC filter, which refuses requests that match all of them. */
function refusedWithout(failure: FailureRules | undefined): string[] {
  if (failure === undefined) return [NOTHING];
  const { method, rules } = failure;
  return [
    ...(method === undefined ? [] : [`- { ${header(NAMES.method, method)} }`]),
    `- { ${PERMISSIONS.not(passesExpression(rules, PERMISSIONS))} }`,
  ];
}

const NAMES = { method: ':method', host: ':authority', path: ':path' };

const PERMISSIONS: Conditions = {
  matches(rule) {
    const conditions = conditionsOf(rule, NAMES, header);
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

function header(name: string, pattern: string): string {
  return `header: { name: "${name}", string_match: { safe_regex: { regex: "(?i)${pattern}" } } }`;
}
