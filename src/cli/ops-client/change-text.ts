/** Says what a change by an operator did. */
import type { Output } from '../../gateway/operations/operation-table.ts';
import { clientText, inForceText, momentText } from '../../gateway/operations/texts.ts';

type OverrideReport = Output<'listOverrides'>['overrides'][number];

/** `login: shadow until 2026-11-22 01:00:00 UTC, in 42 min, "a bad release"` */
export function overrideText(override: OverrideReport, nowMs: number): string {
  const { until, reason } = override;
  return `${subjectText(override)}: ${effectText(override)} until ${momentText(until, nowMs)}, ${JSON.stringify(reason)}`;
}

type Others = Pick<Output<'unblock'>, 'other_overrides'>;

/** One line for each thing that a block or an exemption changed or left in force. */
export function accessText(made: Output<'block'>, nowMs: number): string[] {
  const { access, client, replaced = [] } = made;
  return [
    overrideText(made, nowMs),
    ...(access === 'exempt' ? [exemptedText(client)] : []),
    ...replaced.map((each) => `it replaces ${inForceText(each, nowMs)}`),
    ...otherTexts(made, nowMs),
  ];
}

export function liftedText(name: string, lifted: Others, nowMs: number): string[] {
  return [`${name}: override removed`, ...otherTexts(lifted, nowMs)];
}

function otherTexts({ other_overrides: others = [] }: Others, nowMs: number): string[] {
  return others.map((each) => `another override still applies: ${inForceText(each, nowMs)}`);
}

export function subjectText(override: OverrideReport): string {
  if (override.about === 'client') return clientText(override);
  return override.about === 'policy' ? override.policy : 'log';
}

export function effectText(override: OverrideReport): string {
  if (override.about === 'client') return override.access;
  if (override.about === 'policy') return override.mode;
  if (override.about === 'log_level') return `level ${override.level}`;
  return `1 in ${override.allows_one_in} allowed requests`;
}

/** Which requests an exemption is for: the first letter of a partition says what it stands for. */
export function exemptedText(client: string): string {
  switch (client[0]) {
    case 'c':
    case 'k':
      return 'every request with this key is exempt';
    case 'u':
      return 'every request of this user is exempt';
    default:
      return 'every request from this address is exempt, with any key';
  }
}

/** `id:acme: counters reset: login, search; also those of its address i.2d6...` */
export function resetText(name: string, { policies, address }: Output<'reset'>): string {
  const also = address === undefined ? '' : `; also those of its address ${address}`;
  return `${name}: counters reset: ${policies.join(', ')}${also}`;
}

export function restoredText(policy: string): string {
  return `${policy}: override removed; the file's mode applies`;
}
