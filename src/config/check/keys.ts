/** Keys that no source reads, and plans that only one side knows. */
import { hint } from '../closest-word.ts';
import type { ValidFile } from '../policy-file/compile.ts';
import type { DefaultEntry } from '../policy-file/policy-schema.ts';
import type { Remark } from '../unplaced-diagnostic.ts';
import type { Path } from '../yaml-text.ts';

export function adviceOnKeys(file: ValidFile): Remark[] {
  return [...unknownPlans(file), ...unreadKeys(file), ...unheldPlans(file)];
}

/** A plan that no policy knows is mostly one that is spelled differently there. */
function unknownPlans({ identity, keys, fallback, entries }: ValidFile): Remark[] {
  const known = [fallback, ...entries].flatMap(({ plans }) => Object.keys(plans));
  const unknown = new Set(
    keys.flatMap(({ plan }) => plan ?? []).filter((plan) => !known.includes(plan)),
  );
  const isInline = typeof identity.api_key.keys !== 'string';
  return [...unknown].map((plan) => {
    const index = keys.findIndex((key) => key.plan === plan);
    return {
      rule: 'plan-unknown',
      path: ['identity', 'api_key', 'keys', ...(isInline ? [index, 'plan'] : [])],
      message: `no policy has limits for the plan "${plan}" of "${keys[index]?.id}"${hint(plan, known)}`,
    };
  });
}

function unreadKeys({ identity, keys }: ValidFile): Remark[] {
  if (keys.length === 0 || identity.sources.includes('api_key')) return [];
  const message = 'are not read, since identity.sources has no api_key';
  return [{ rule: 'keys-not-read', path: ['identity', 'api_key', 'keys'], message }];
}

function unheldPlans({ identity, keys, fallback, entries }: ValidFile): Remark[] {
  // That no key is read is told already.
  if (keys.length > 0 && !identity.sources.includes('api_key')) return [];
  const held = [...new Set(keys.flatMap(({ plan }) => plan ?? []))];
  const unheld = ({ plans }: DefaultEntry, at: Path): Remark[] =>
    Object.keys(plans)
      .filter((plan) => !held.includes(plan))
      .map((plan) => ({
        rule: 'plan-unheld',
        path: [...at, 'plans', plan],
        message: `no listed key has this plan${hint(plan, held)}`,
      }));
  return [
    ...unheld(fallback, ['default']),
    ...entries.flatMap((entry, i) => unheld(entry, ['policies', i])),
  ];
}
