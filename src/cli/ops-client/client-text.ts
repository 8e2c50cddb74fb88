/** What `headgate clients show` and `headgate top` say of one client. */
import type { Output } from '../../gateway/operations/operation-table.ts';
import {
  clientText,
  durationText,
  inForceText,
  listText,
  momentText,
  shortTime,
} from '../../gateway/operations/texts.ts';
import { columns } from '../output/table.ts';

export const UNLISTED = 'unknown, ended or revoked';

const KINDS: Readonly<Record<string, string>> = {
  c: 'a listed API key',
  k: `an unlisted API key (${UNLISTED})`,
  u: 'a user',
  i: 'an address',
  d: 'a descriptor',
  r: 'a descriptor',
  h: 'the value of a header',
  g: 'all clients',
};

const UNKNOWN_ADDRESS =
  'whether exempt or block names this client is unknown, because they list addresses and this is a pseudonym: show the client by its address';

const UNSEEN_PLAN =
  'the proxy names the plan of each request, which is not known here: these are the limits without a plan';

export function inspectionText(client: Output<'inspect'>, nowMs: number): string[] {
  const { listed, overrides, is_address_unknown: isUnknown, gateways, denials } = client;
  const { limits_unavailable: unavailable } = client;
  const letter = client.client.slice(0, 1);
  const kind =
    client.ended_key && letter === 'k' ? 'an ended API key' : (KINDS[letter] ?? 'a client');
  const name = client.client_id === undefined ? '' : `${clientText(client)}, `;
  const silent = gateways.asked - gateways.answered;
  const facts = columns([
    ['client', `${name}${client.client}, ${kind}`],
    ...keyFacts(client, nowMs),
    ...(client.is_plan_unseen ? [['plan', UNSEEN_PLAN]] : []),
    ['now', stateText(client)],
    ...(unavailable === undefined ? [] : [['limits', `cannot be read now: ${unavailable}`]]),
    ...unsettledFacts(client),
    ...listed.map(({ what, is_in_store: isKey }) => [isKey ? 'key' : 'file', what]),
    ...(isUnknown ? [['file', UNKNOWN_ADDRESS]] : []),
    ...overrides.flatMap((override) =>
      override.about === 'client' ? [['override', inForceText(override, nowMs)]] : [],
    ),
    ...(denials.length === 0 ? [['denied', 'no gateway remembers a denial of this client']] : []),
    ...(silent > 0 ? [['denied', `${silent} of ${gateways.asked} gateways did not answer`]] : []),
  ]);
  const tables = [limitLines(client), denialLines(client, nowMs)];
  return [...facts, ...tables.flatMap((lines) => (lines.length > 1 ? ['', ...lines] : []))];
}

function keyFacts(client: Output<'inspect'>, nowMs: number) {
  const { key_source: source, key_ends: ends, ended_key: ended } = client;
  if (source === undefined || source === 'file') return [];
  if (ended !== undefined && ends !== undefined) {
    const end = `its key ended ${momentText(ends, nowMs)}, so requests count for their address`;
    return [['key', client.client_id === undefined ? `id:${ended}: ${end}` : end]];
  }
  const where = source === 'redis' ? 'in Redis' : 'in this gateway, lost when it ends';
  return [['key', ends === undefined ? where : `${where}, until ${momentText(ends, nowMs)}`]];
}

function unsettledFacts({ limits }: Output<'inspect'>): string[][] {
  const policies = limits.filter((each) => each.is_unsettled).map(({ policy }) => policy);
  const names = listText([...new Set(policies)]);
  return policies.length === 0
    ? []
    : [['reserved', `nobody reports outcomes for ${names}: what requests reserved stays counted`]];
}

/** What happens to its next request. */
function stateText(client: Output<'inspect'>): string {
  const { access, limits, limits_unavailable: isUnread, ended_key: ended } = client;
  if (ended !== undefined && client.client_id !== undefined) return 'no request counts for it';
  if (access === 'blocked')
    return 'blocked: every request is denied, whatever remains of its limits';
  if (access === 'exempt') return 'exempt: every request passes, and none is counted';
  if (isUnread !== undefined) return 'neither blocked nor exempt, as far as this gateway knows';
  const full = limits.filter(({ mode, retry_after_ms: ms }) => mode === 'enforce' && ms !== 0);
  if (full.length === 0) return 'within its limits';
  return `over the limit: ${full.map(({ limit }) => limit).join(', ')}`;
}

function limitLines({ limits }: Output<'inspect'>): string[] {
  const rows = limits.map(({ limit, allows, mode, remaining, retry_after_ms: waitMs }) => [
    limit,
    mode === 'enforce' ? allows : `${allows} (${mode})`,
    String(remaining),
    waitText(waitMs),
  ]);
  return columns([['LIMIT', 'ALLOWS', 'LEFT', 'NEXT REQUEST'], ...rows]);
}

/** `waitMs` is undefined if the limit never allows a request. */
function waitText(waitMs: number | undefined): string {
  if (waitMs === undefined) return 'never';
  return waitMs === 0 ? 'now' : `in ${durationText(Math.ceil(waitMs / 1_000))}`;
}

function denialLines({ client, denials, limits }: Output<'inspect'>, nowMs: number): string[] {
  // An operator may have reset them since.
  const open = new Set(
    limits.filter((each) => each.retry_after_ms === 0).map(({ limit }) => limit),
  );
  const hasEnded = (denial: Output<'inspect'>['denials'][number]) =>
    denial.client === client && denial.limit !== undefined && open.has(denial.limit);
  const rows = denials.map((denial) => [
    clientText(denial),
    denial.limit ?? denial.policy,
    denial.reason,
    String(denial.denials),
    shortTime(denial.last),
    denial.until === undefined ? '' : hasEnded(denial) ? 'ended' : momentText(denial.until, nowMs),
    denial.decision_id,
  ]);
  const head = ['DENIED', 'LIMIT', 'REASON', 'DENIALS', 'LAST (UTC)', 'UNTIL', 'DECISION'];
  return columns([head, ...rows]);
}
