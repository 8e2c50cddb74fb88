/** What a reader of a report must know: where the log has less than a gateway sees. */
import type { Afterwards } from '../../../gateway/core/counting/outcome.ts';
import type { PolicySet } from '../../../gateway/core/matching/policy-set.ts';
import { isMcpHeader } from '../../../gateway/core/mcp/mcp-call.ts';
import { everyLimit, type Policy } from '../../../gateway/core/policy.ts';
import { ORIGIN, REQUESTED_METHOD } from '../../../gateway/core/preflight.ts';
import { count } from '../figures.ts';
import type { MappedField } from '../log-request.ts';
import { knownIdentities } from './evaluable.ts';
import type { ReplayResult } from './result.ts';

export interface ReplayedPolicies {
  readonly policies: PolicySet;
  /** The names of those that match by host. */
  readonly hostPolicies: ReadonlySet<string>;
  readonly mapping: readonly MappedField[];
}

export function notesOn(
  { facts, isUncertain }: ReplayResult,
  { policies: { policies, naming, neededHeaders }, hostPolicies, mapping }: ReplayedPolicies,
): string[] {
  const known = knownIdentities(mapping);
  const notes: string[] = [];
  const ofAddress = naming.sources.flatMap((source) => {
    if (source === 'api_key') return known.apiKey ? [] : ['api_key'];
    if (source === 'user') return known.user ? [] : ['user'];
    return source === 'ip' || known.headers.has(source.header) ? [] : [source.header];
  });
  if (ofAddress.length > 0) {
    notes.push(
      `Clients were told apart by address, without ${ofAddress.join(', ')}: a gateway that sees more tells them apart better. If the log has the values, use --map.`,
    );
  }
  if (known.plan && naming.plan === undefined) {
    notes.push(
      'The policy file has no identity.plan, so the plans of the log were not used: add it, as a gateway needs it too.',
    );
  }
  if (!known.apiKey && !known.plan && policies.some(({ plans }) => plans.size > 0)) {
    notes.push('Limits of plans were not evaluated: the log does not say which key a client has.');
  }
  const ofCalls = neededHeaders.map(({ name }) => name).filter(isMcpHeader);
  const lacking = ofCalls.filter((name) => !known.headers.has(name));
  if (lacking.length > 0) {
    notes.push(
      `The log does not say ${lacking.join(', ')}, so MCP calls counted as calls without headers (none) where these are needed. If it has them, use --map header:NAME=FIELD for each.`,
    );
  }
  if (hostPolicies.size > 0 && facts.withoutHost > 0) {
    notes.push(
      `${count(facts.withoutHost)} of ${count(facts.withHost + facts.withoutHost)} requests do not say which host was asked for. Policies that match by host (${[...hostPolicies].join(', ')}) did not count them, and other policies did in their place. Log the host, or replay without these policies.`,
    );
  }
  if (facts.withoutTime > 0) {
    notes.push(
      `${count(facts.withoutTime)} requests were not decided: their start, which is their time less their duration, is before 1970 or after 9999.`,
    );
  }
  if (facts.answered429 > 0) {
    notes.push(
      `${count(facts.answered429)} requests were answered 429 when they were logged. They were replayed like all others, as clients sent them.`,
    );
  }
  if (facts.ofOptions > 0 && !(known.headers.has(ORIGIN) && known.headers.has(REQUESTED_METHOD))) {
    notes.push(
      `${count(facts.ofOptions)} requests have the method OPTIONS. They counted for the policies of their paths, although a gateway counts preflights of browsers for the default. If the log has the headers ${ORIGIN} and ${REQUESTED_METHOD}, use --map.`,
    );
  }
  if (policies.some(({ mode }) => mode === 'shadow')) {
    notes.push(
      'Policies in shadow mode deny nobody: their denied requests are those that they would deny. --against and --fail-on count these, too.',
    );
  }
  notes.push(...outcomeNotes(policies, facts.withoutStatus));
  if (isUncertain) {
    notes.push(
      'The log has whole seconds, and a limit has a window under 10 seconds: requests of one second were spread over it. The number "at once" is what they would give if they came together at its beginning. The truth may also be higher than both: a burst around the end of a second falls into one window.',
    );
  }
  notes.push(
    'A replay cannot show how clients react to a denial: they may retry, wait or give up.',
  );
  return notes;
}

function outcomeNotes(policies: readonly Policy[], withoutStatus: number): string[] {
  const byStatus = limitsThat(policies, ({ refund }) => (refund?.status.size ?? 0) > 0);
  const unknown = limitsThat(policies, ({ unit, refund }) => {
    const others = refund === undefined ? 0 : refund.headers.size + refund.locations.size;
    return unit !== undefined || others > 0;
  });
  const notes: string[] = [];
  if (byStatus !== '') {
    const uncertain =
      withoutStatus === 0 ? '' : ` ${count(withoutStatus)} requests have no status: they count.`;
    notes.push(
      `${byStatus}: requests were refunded by their status in the log, at once. A gateway counts a request until its answer has come, and refunds none that a proxy has answered.${uncertain}`,
    );
  }
  if (unknown !== '') {
    notes.push(
      `${unknown}: a log does not say what a request took, nor the headers of its answer. So what these limits reserve was counted as if it were the cost.`,
    );
  }
  return notes;
}

/** Their names. */
function limitsThat(policies: readonly Policy[], charge: (how: Afterwards) => boolean): string {
  const found = policies
    .flatMap(everyLimit)
    .filter(({ afterwards }) => afterwards !== undefined && charge(afterwards));
  return [...new Set(found.map(({ label }) => label))].join(', ');
}
