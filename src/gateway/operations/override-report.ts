import type { ListedClients } from '../core/identity/listed-clients.ts';
import { isoTime } from '../denials/iso-time.ts';
import type { EndedOverride, Override } from '../stores/overrides/override.ts';
import type { ClientOverride, EndedReport, OverrideReport } from './schemas/overrides.ts';
import type { ListedFields } from './texts.ts';

/** The id and the plan of a listed key; empty for any other client. */
export function listedFields(partition: string, listed: ListedClients): ListedFields {
  const { id, plan } = listed.get(partition) ?? {};
  return {
    ...(id !== undefined && { client_id: id }),
    ...(plan !== undefined && { plan }),
    ...(plan !== undefined && !listed.hasPlan(plan) && { is_plan_unknown: true as const }),
  };
}

type OfClient = Extract<Override, { about: 'client' }>;

export function overrideReport(override: Override, listed: ListedClients): OverrideReport {
  switch (override.about) {
    case 'client':
      return clientOverride(override, listed);
    case 'policy':
      return {
        about: 'policy',
        policy: override.policy,
        mode: override.mode,
        ...termsOf(override),
      };
    case 'log_level':
      return { about: 'log_level', level: override.level, ...termsOf(override) };
    case 'log_allows':
      return { about: 'log_allows', allows_one_in: override.oneIn, ...termsOf(override) };
  }
}

export function clientOverride(override: OfClient, listed: ListedClients): ClientOverride {
  const { client, access } = override;
  return { about: 'client', client, ...listedFields(client, listed), access, ...termsOf(override) };
}

function termsOf({ sinceMs, untilMs, reason, by }: Override) {
  return { since: isoTime(sinceMs), until: isoTime(untilMs), reason, by };
}

export interface OverrideLists {
  /** The next to end comes first. */
  list(): readonly Override[];
  /** The one that ended last comes first. */
  ended(): readonly EndedOverride[];
}

export function overridesOf(
  names: readonly string[],
  overrides: Pick<OverrideLists, 'list'>,
): OfClient[] {
  return overrides.list().filter((each): each is OfClient => isOf(names, each));
}

export function endedOverrideOf(
  names: readonly string[],
  overrides: Pick<OverrideLists, 'ended'>,
  listed: ListedClients,
): EndedReport | undefined {
  for (const { override, endedMs, endedBy } of overrides.ended()) {
    if (!isOf(names, override)) continue;
    return {
      override: clientOverride(override, listed),
      ended_at: isoTime(endedMs),
      ...(endedBy !== undefined && { ended_by: endedBy }),
    };
  }
  return undefined;
}

function isOf(names: readonly string[], override: Override): override is OfClient {
  return override.about === 'client' && names.includes(override.client);
}
