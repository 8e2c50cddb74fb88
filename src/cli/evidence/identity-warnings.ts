/** Warns if the columns of a log were hardly understood: one client sent everything, hosts that cannot be hosts. */
import { canonicalAddress } from '../../gateway/core/identity/address.ts';
import { isHost } from '../../gateway/core/matching/host.ts';
import type { PolicySet } from '../../gateway/core/matching/policy-set.ts';
import { count, counted } from './figures.ts';
import { type LogFormat, Misread, type ParseOptions } from './formats/log-format.ts';
import { lastOf } from './formats/parts/values.ts';
import { createLogRequests, type MappedField } from './log-request.ts';
import type { OpenLog } from './reading/open-log.ts';
import { compileLogClient } from './replay/client-address.ts';

/** Not the versions of user agents: `Chrome/140.0.0.0`. */
const ADDRESS = /(?<![\w./])(?:(?:\d{1,3}\.){3}\d{1,3}|[\da-f]{1,4}(?::[\da-f]{0,4}){2,7})/gi;
const MANY = 10;
const TRUST = 'Name it in identity.trusted_proxies of the policy file';

interface Reading {
  readonly parsing: ParseOptions;
  readonly policies: PolicySet;
  readonly mapping: readonly MappedField[];
}

export function identityWarnings(
  { format, firstLines }: Pick<OpenLog, 'format' | 'firstLines'>,
  { parsing, policies, mapping }: Reading,
): string[] {
  const parse = format.compile(parsing);
  const requestOf = createLogRequests(policies, mapping);
  const clientOf = compileLogClient(policies.naming, 1);
  const clients = new Set<string>();
  const forwarded = new Set<string>();
  const others = new Set<string>();
  const hosts = new Set<string>();
  let [requests, misread] = [0, 0];
  for (const line of firstLines) {
    const entry = parse(line);
    if (entry instanceof Misread) misread++;
    if (entry === undefined || entry instanceof Misread) continue;
    if (entry.host !== undefined) hosts.add(entry.host);
    const request = requestOf(entry);
    if (request === undefined) continue;
    requests++;
    const { name, address } = clientOf(request);
    clients.add(name);
    if (entry.forwardedFor !== undefined) forwarded.add(lastOf(entry.forwardedFor).last);
    for (const [found] of line.matchAll(ADDRESS)) {
      const other = canonicalAddress(found);
      if (other !== undefined && other !== address) others.add(other);
    }
  }
  const sizes = { clients: clients.size, forwarded: forwarded.size, others: others.size };
  const hasKeys = mapping.some(({ target }) => target === 'api_key' || target === 'user');
  return [
    ...misreadWarning(misread, firstLines.length),
    ...(hasKeys ? [] : clientWarning({ requests, ...sizes })),
    ...keyWarning(policies, mapping),
    ...hostWarning([...hosts]),
    ...loadBalancerWarning(firstLines, format, { parsing, policies, mapping }),
  ];
}

function misreadWarning(misread: number, lines: number): string[] {
  if (2 * misread <= lines) return [];
  return [
    `Of the first ${counted(lines, 'line')}, ${count(misread)} are not understood: the format may be wrong. Give the right one with --format.`,
  ];
}

function keyWarning({ keysInStore }: PolicySet, mapping: readonly MappedField[]): string[] {
  if (!keysInStore || !mapping.some(({ target }) => target === 'api_key')) return [];
  return [
    'The policy file takes API keys from Redis, which is not asked here: these keys count as unlisted, without their plans.',
  ];
}

interface Addresses {
  readonly requests: number;
  readonly clients: number;
  readonly forwarded: number;
  readonly others: number;
}

function clientWarning({ requests, clients, forwarded, others }: Addresses): string[] {
  const found = `The first ${counted(requests, 'request')} come from ${counted(clients, 'client')}, but`;
  if (forwarded >= MANY * clients || (clients === 1 && forwarded > 1)) {
    return [
      `${found} X-Forwarded-For has ${count(forwarded)} addresses: what the log takes for a client is probably a load balancer. ${TRUST}.`,
    ];
  }
  if (clients !== 1 || others < MANY) return [];
  return [
    `${found} their lines have ${count(others)} other addresses. If another column has the client, give the format with --format, or the column with --map header:x-forwarded-for=FIELD.`,
  ];
}

function hostWarning(hosts: readonly string[]): string[] {
  const few = hosts.length < 2;
  if (hosts.length > 0 && !hosts.some(isHost)) {
    return [
      'No host in the first lines can be the name of a host: requests are decided as if the log had no hosts. The format may be wrong: see --format.',
    ];
  }
  if (few || !hosts.every((host) => canonicalAddress(host) !== undefined)) return [];
  return [
    'All hosts in the first lines are addresses. If they are those of clients, add --format nginx-forwarded or --format apache-forwarded.',
  ];
}

/** The log has the clients, but a gateway asks the policy file whether it may believe the load balancer. */
function loadBalancerWarning(
  lines: readonly string[],
  format: LogFormat,
  { parsing, policies }: Reading,
): string[] {
  if (!format.isForwardedFirst) return [];
  const parse = format.compile({ ...parsing, fields: ['remote_addr'] });
  const isUntrusted = lines.some((line) => {
    const entry = parse(line);
    if (entry === undefined || entry instanceof Misread) return false;
    const sender = canonicalAddress(entry.fields[0] ?? '');
    return (
      sender !== undefined && sender !== entry.address && !policies.naming.trustedProxies(sender)
    );
  });
  if (!isUntrusted) return [];
  return [
    `The clients are those that X-Forwarded-For names, but the policy file does not trust the load balancer whose address comes after it: a gateway with this file would take the load balancer for the client. ${TRUST}.`,
  ];
}
