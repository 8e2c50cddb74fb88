import { simpleSpellingsOf, TRANSFORMATIONS } from '../../src/cli/check/advice/spellings.ts';
import { targetOf } from '../../src/gateway/config/policy-file/path-template.ts';

/** Applies one or two transformations. */
export function spellingsOf(path: string): string[] {
  const target = targetOf(path);
  const pairs = TRANSFORMATIONS.flatMap((first, i) => {
    const [once] = first.spell(target);
    // Some transformations only change what another one wrote.
    const base = once ?? target;
    return TRANSFORMATIONS.slice(i + 1).flatMap(({ spell }) => spell(base).slice(0, 1));
  });
  const all = new Set([...simpleSpellingsOf(path), ...pairs]);
  all.delete(target);
  return [...all];
}
