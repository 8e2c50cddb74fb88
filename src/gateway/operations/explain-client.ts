/** What `explain` says of the client: the id of its key, its plan, and the overrides and the entries of the file that name it. */
import { countedAddress } from '../core/identity/address.ts';
import { addressPartition, pseudonymsOf } from '../core/identity/partition.ts';
import type { SaltSource } from '../core/identity/salts.ts';
import type { PolicySet } from '../core/matching/policy-set.ts';
import type { AccessEvent, PlanEvent, TraceEvent } from '../core/trace.ts';
import { isoTime } from '../denials/iso-time.ts';
import type { Step } from './explain-text.ts';
import { listedReports } from './listed-report.ts';
import {
  clientOverride,
  endedOverrideOf,
  listedFields,
  type OverrideLists,
  overridesOf,
} from './override-report.ts';
import { clientText, endedText, inForceText, momentText } from './texts.ts';

export interface ClientContext {
  readonly policies: Pick<PolicySet, 'listedClients' | 'naming' | 'hasPlan'>;
  readonly overrides: OverrideLists;
  readonly salts: SaltSource;
  readonly nowMs: number;
}

export function createClientSteps(context: ClientContext): (event: TraceEvent) => Step[] {
  let ofAddress: readonly string[] = [];
  return (event) => {
    if (event.type === 'client-address') {
      ofAddress = namesOfAddress(event.address ?? event.proxy, context);
    }
    if (event.type === 'plan') return stepsOf(unknownPlanTexts(event, context.policies));
    if (event.type === 'key-ended') {
      const when = momentText(isoTime(event.endsMs), context.nowMs);
      return stepsOf([
        `the store has the key: id:${event.id} until ${when}, so it is not listed now`,
      ]);
    }
    if (event.type === 'access') return stepsOf(accessTexts(event, context.nowMs));
    if (event.type !== 'client-names') return [];
    const names = [...new Set([...event.names, ...ofAddress])];
    return stepsOf([...listedTexts(names, context), ...overrideTexts(names, context)]);
  };
}

function stepsOf(sentences: readonly string[]): Step[] {
  return sentences.map((what) => ({ about: 'identity', what }));
}

function unknownPlanTexts({ plan, ignored }: PlanEvent, policies: ClientContext['policies']) {
  if (plan === undefined || ignored !== undefined || policies.hasPlan(plan)) return [];
  return [`no policy has the plan ${plan}: the limits without a plan apply`];
}

function accessTexts(event: AccessEvent, nowMs: number): string[] {
  const { access } = event;
  const by = access?.isOverride ? 'an override applies: ' : '';
  return [
    ...(access === undefined ? [] : [`${by}the client is ${access.access}`]),
    ...listedReports(event, nowMs).map(({ what }) => what),
  ];
}

/** An override may name the address under the 31-day salts, which a check computes only if it needs them. */
function namesOfAddress(address: string, { policies, salts, nowMs }: ClientContext): string[] {
  const { ipv6Prefixes } = policies.naming;
  const counted = countedAddress(address);
  return pseudonymsOf(addressPartition(counted, ipv6Prefixes, salts.at(nowMs, true)));
}

function listedTexts(names: readonly string[], { policies, nowMs }: ClientContext): string[] {
  const listed = policies.listedClients;
  return names.flatMap((client) => {
    const found = listed.get(client);
    if (found === undefined) return [];
    const name = clientText({ client, ...listedFields(client, listed) });
    const { stored } = found;
    if (stored === undefined) return [`the key is listed: ${name}`];
    const end = Number.isFinite(stored.endsMs)
      ? ` until ${momentText(isoTime(stored.endsMs), nowMs)}`
      : '';
    return [`the store has the key: ${name}${end}`];
  });
}

/** The overrides in force or, if there is none, the one that ended last. */
function overrideTexts(
  names: readonly string[],
  { policies, overrides, nowMs }: ClientContext,
): string[] {
  const listed = policies.listedClients;
  const inForce = overridesOf(names, overrides);
  if (inForce.length > 0) {
    return inForce.map((each) => `override: ${inForceText(clientOverride(each, listed), nowMs)}`);
  }
  const ended = endedOverrideOf(names, overrides, listed);
  return ended === undefined ? [] : [`ended override: ${endedText(ended, nowMs)}`];
}
