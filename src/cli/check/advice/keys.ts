/** Advice on API keys that no source reads, and on plans without keys or limits. */
import { hint } from '../../../gateway/config/closest-word.ts';
import type { DiagnosticDraft } from '../../../gateway/config/diagnostic.ts';
import type { ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import { everyEntry } from '../../../gateway/config/policy-file/valid-file.ts';

export function adviceOnKeys(file: ValidFile): DiagnosticDraft[] {
  return [...unknownPlans(file), ...unreadKeys(file), ...unheldPlans(file)];
}

/** Plans of keys that no policy has limits for; mostly misspelled. */
function unknownPlans({ identity, keys, fallback, entries }: ValidFile): DiagnosticDraft[] {
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
      message: `no policy has limits for the plan "${plan}" of the key "${keys[index]?.id}"${hint(plan, known)}`,
    };
  });
}

function unreadKeys({ identity, keys }: ValidFile): DiagnosticDraft[] {
  if (keys.length === 0 || identity.sources.includes('api_key')) return [];
  const message = 'are not read: add api_key to identity.sources, or remove the keys';
  return [{ rule: 'keys-not-read', path: ['identity', 'api_key', 'keys'], message }];
}

function unheldPlans(file: ValidFile): DiagnosticDraft[] {
  const { identity, keys } = file;
  // keys-not-read is reported already.
  if (keys.length > 0 && !identity.sources.includes('api_key')) return [];
  const held = [...new Set(keys.flatMap(({ plan }) => plan ?? []))];
  return everyEntry(file).flatMap(({ entry: { plans }, at }) =>
    Object.keys(plans)
      .filter((plan) => !held.includes(plan))
      .map((plan) => ({
        rule: 'plan-unheld',
        path: [...at, 'plans', plan],
        message: `no listed key has this plan${hint(plan, held)}`,
      })),
  );
}
