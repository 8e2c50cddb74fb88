/** Advice on entries of `exempt` and `block` that have no effect, or a wider one than they seem to have. */
import type { DiagnosticDraft } from '../../../gateway/config/diagnostic.ts';
import type { CloudflareRanges } from '../../../gateway/config/policy-file/read.ts';
import type {
  AccessEntry,
  AccessList,
  ValidFile,
} from '../../../gateway/config/policy-file/valid-file.ts';
import { isIPv6Text, isLoopback, NAMED_RANGES } from '../../../gateway/core/identity/address.ts';
import { type AddressSpan, compileExemptions, networkAddress, spanOf } from './address-span.ts';

interface Today {
  readonly cloudflare: CloudflareRanges;
  readonly nowMs: number;
}

export function adviceOnLists(
  { exempt, block, identity }: ValidFile,
  today: Today,
): DiagnosticDraft[] {
  return [
    ...expired('exempt', exempt, today.nowMs),
    ...expired('block', block, today.nowMs),
    ...shadowed(exempt, block, today),
    ...neverExempt(exempt, identity.trusted_proxies, today),
  ];
}

function expired(section: 'exempt' | 'block', list: AccessList, nowMs: number): DiagnosticDraft[] {
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

function neverExempt(
  exempt: AccessList,
  trusted: readonly string[],
  { cloudflare, nowMs }: Today,
): DiagnosticDraft[] {
  const named: Readonly<Record<string, readonly string[]>> = {
    ...NAMED_RANGES,
    cloudflare: cloudflare.ranges,
  };
  const spansOf = (range: string) =>
    (named[range] ?? [range]).flatMap((each) => spanOf(each) ?? []);
  return exempt.flatMap((entry, index): DiagnosticDraft[] => {
    const { address } = entry;
    if (address === undefined || endOf(entry) <= nowMs) return [];
    const path = ['exempt', index];
    const spans = spansOf(address);
    const around = trusted.find((range) => {
      const proxies = spansOf(range);
      return spans.every((span) => proxies.some((proxy) => isWithin(span, proxy)));
    });
    if (around !== undefined) {
      const message = `has no effect: ${around} is in identity.trusted_proxies, and a trusted proxy is never exempt; name your proxies there more narrowly, or exempt an API key`;
      return [{ rule: 'exempt-trusted-proxy', path, message }];
    }
    if (spans.some(({ first }) => isLoopback(first))) {
      const message =
        'exempts every client of a tunnel or proxy on the same machine, remove it or exempt an API key';
      return [{ rule: 'loopback-exempt', path, message }];
    }
    const inside = trusted.filter((range) =>
      spansOf(range).some(
        (proxy) =>
          isNetwork(proxy) && spans.some((span) => isWithin(proxy, span) || isWithin(span, proxy)),
      ),
    );
    if (inside.length === 0) return [];
    const message = `does not exempt ${inside.join(', ')}: identity.trusted_proxies has it, and a trusted proxy is never exempt; name your proxies there more narrowly`;
    return [{ rule: 'exempt-trusted-proxy', path, message }];
  });
}

function isWithin(inner: AddressSpan, outer: AddressSpan): boolean {
  const sameFamily = isIPv6Text(inner.first) === isIPv6Text(outer.first);
  return (
    sameFamily &&
    inner.bits >= outer.bits &&
    networkAddress(inner.first, outer.bits) === outer.first
  );
}

/** A single proxy in an exempt network is no surprise. */
function isNetwork({ first, bits }: AddressSpan): boolean {
  return bits < (isIPv6Text(first) ? 128 : 32);
}

/** Milliseconds since the epoch. */
function endOf(entry: AccessEntry | undefined): number {
  return entry?.expires ?? Number.POSITIVE_INFINITY;
}
