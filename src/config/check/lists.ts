/** Advice on entries of `exempt` and `block` that have no effect, or a wider one than they seem to have. */
import { isLoopback } from '../../core/address.ts';
import type { DiagnosticDraft } from '../diagnostic.ts';
import type { AccessEntry, AccessList } from '../policy-file/access-schema.ts';
import type { CloudflareRanges } from '../policy-file/cloudflare-ranges.ts';
import { spanOf } from './address-span.ts';
import { compileExemptions } from './exemptions.ts';

interface Lists {
  readonly exempt: AccessList;
  readonly block: AccessList;
}

interface Today {
  readonly cloudflare: CloudflareRanges;
  readonly nowMs: number;
}

export function adviceOnLists({ exempt, block }: Lists, today: Today): DiagnosticDraft[] {
  return [
    ...expired('exempt', exempt, today.nowMs),
    ...expired('block', block, today.nowMs),
    ...shadowed(exempt, block, today),
    ...loopbacks(exempt, today.nowMs),
  ];
}

function expired(section: keyof Lists, list: AccessList, nowMs: number): DiagnosticDraft[] {
  return list.flatMap((entry, index) =>
    endOf(entry) <= nowMs
      ? [{ rule: 'entry-expired', path: [section, index], message: 'has expired, remove it' }]
      : [],
  );
}

function shadowed(
  exempt: AccessList,
  block: AccessList,
  { cloudflare, nowMs }: Today,
): DiagnosticDraft[] {
  const exemptionsOf = compileExemptions(exempt, cloudflare.ranges);
  return block.flatMap((blocked, index) => {
    const end = endOf(blocked);
    if (end <= nowMs) return [];
    const other = exemptionsOf(blocked).find((place) => endOf(exempt[place]) >= end);
    if (other === undefined) return [];
    const message = `has no effect: exempt[${other}] covers it, and exempt wins over block`;
    return [{ rule: 'exempt-shadows-block', path: ['block', index], message }];
  });
}

function loopbacks(exempt: AccessList, nowMs: number): DiagnosticDraft[] {
  return exempt.flatMap((entry, index) => {
    if (entry.address === undefined || endOf(entry) <= nowMs) return [];
    const first = spanOf(entry.address)?.first ?? '';
    if (entry.address !== 'loopback' && !isLoopback(first)) return [];
    const message =
      'exempts every client of a tunnel or proxy on the same machine, remove it or exempt an API key';
    return [{ rule: 'loopback-exempt', path: ['exempt', index], message }];
  });
}

/** Milliseconds since the epoch. */
function endOf(entry: AccessEntry | undefined): number {
  return entry?.expires ?? Number.POSITIVE_INFINITY;
}
