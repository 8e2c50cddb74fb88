/** Entries of `exempt` and `block` that mean nothing: those that are over, and blocks of who is exempt. */
import type { AccessEntry, AccessList } from '../policy-file/access-schema.ts';
import type { CloudflareRanges } from '../policy-file/cloudflare-ranges.ts';
import type { Remark } from '../unplaced-diagnostic.ts';
import { compileExemptions } from './exemptions.ts';

interface Lists {
  readonly exempt: AccessList;
  readonly block: AccessList;
}

interface Today {
  readonly cloudflare: CloudflareRanges;
  readonly nowMs: number;
}

export function adviceOnLists({ exempt, block }: Lists, today: Today): Remark[] {
  return [
    ...expired('exempt', exempt, today.nowMs),
    ...expired('block', block, today.nowMs),
    ...shadowed(exempt, block, today),
  ];
}

function expired(section: keyof Lists, list: AccessList, nowMs: number): Remark[] {
  return list.flatMap((entry, index) =>
    endOf(entry) <= nowMs
      ? [{ rule: 'entry-expired', path: [section, index], message: 'has expired, remove it' }]
      : [],
  );
}

function shadowed(exempt: AccessList, block: AccessList, { cloudflare, nowMs }: Today): Remark[] {
  const exemptionsOf = compileExemptions(exempt, cloudflare.ranges);
  return block.flatMap((blocked, index) => {
    const end = endOf(blocked);
    if (end <= nowMs) return [];
    const other = exemptionsOf(blocked).find((place) => endOf(exempt[place]) >= end);
    if (other === undefined) return [];
    const message = `blocks nobody: exempt[${other}] has them as well, and comes first`;
    return [{ rule: 'exempt-shadows-block', path: ['block', index], message }];
  });
}

function endOf(entry: AccessEntry | undefined): number {
  return entry?.expires ?? Number.POSITIVE_INFINITY;
}
