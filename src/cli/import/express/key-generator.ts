/** Finds out by what a keyGenerator counts, from its text. */
import type { Partition } from '../../../gateway/core/policy.ts';
import type { Finding } from '../shared/finding.ts';
import { headerPartition, INVENTED } from '../shared/headers.ts';
import type { SourcePlace } from '../shared/source.ts';

export interface GeneratedKey {
  readonly per: Partition;
  /** Undefined if nothing differs. */
  readonly finding: Finding | undefined;
}

/** `text` is the function as it is written. */
export function keyOf(text: string, place: SourcePlace): GeneratedKey {
  const written = text.replaceAll(/\s+/g, ' ');
  if (ADDRESS.test(written)) return { per: 'ip', finding: undefined };
  const at = { place, kind: 'approximate' as const, what: `keyGenerator: ${written}` };
  const header = headerIn(written);
  const per = header === undefined ? undefined : headerPartition(header);
  if (per !== undefined) {
    const why = `a request without ${header} counts for its address. ${INVENTED}`;
    return { per, finding: per === 'ip' ? undefined : { ...at, why } };
  }
  const why = /\b(user|userId|session|auth)\b/.test(written)
    ? 'headgate does not know the users of the application, and counts addresses. If your proxy authenticates users, name its header in identity.user and write per: user.'
    : 'headgate does not run functions, and counts addresses. It can count API keys, users that your proxy authenticates, and headers: see "per" in the policy file.';
  return { per: 'ip', finding: { ...at, why } };
}

/** Functions that only give the address of the client. */
const ADDRESS =
  /^(?:async )?\(?\w+(?:: ?\w+)?(?:, ?\w+(?:: ?\w+)?)?\)?(?:: ?\w+)? ?=> ?(?:ipKeyGenerator\()?\w+\.ip\b!?(?: ?(?:\?\?|\|\|) ?['"`]{2})?(?:, ?\d+)?\)?$/;
const MAX_FUNCTION = 300;
const HEADER =
  /\.headers(?:\[['"`]([\w-]+)['"`]\]|\.(\w+))|\.(?:get|header)\(['"`]([\w-]+)['"`]\)/g;

/** The one header that a short function reads. */
function headerIn(written: string): string | undefined {
  if (written.length > MAX_FUNCTION) return undefined;
  const found = [...written.matchAll(HEADER)].map(
    ([, quoted, plain, called]) => quoted ?? plain ?? called ?? '',
  );
  return found.length === 1 ? found[0]?.toLowerCase() : undefined;
}
