/**
 * Spellings of a path that have evaded the policy of a path, because some server treats them as the same path. Targets
 * are as they are sent: one character for each byte, and never a CR or LF.
 */
import { targetOf } from '../../../gateway/config/policy-file/path-template.ts';
import { TRANSFORMATIONS } from './spelling-transformations.ts';

/** Applies one transformation at a time. This is cheap enough for every policy of a file. */
export function simpleSpellingsOf(path: string): string[] {
  const target = targetOf(path);
  return without(
    target,
    TRANSFORMATIONS.flatMap(({ spell }) => spell(target)),
  );
}

export function spellingsOf(path: string): string[] {
  const target = targetOf(path);
  const pairs = TRANSFORMATIONS.flatMap((first, i) => {
    const [once] = first.spell(target);
    // Some transformations only change what another one wrote.
    const base = once ?? target;
    return TRANSFORMATIONS.slice(i + 1).flatMap(({ spell }) => spell(base).slice(0, 1));
  });
  return without(target, [...simpleSpellingsOf(path), ...pairs]);
}

function without(target: string, spellings: readonly string[]): string[] {
  return [...new Set(spellings)].filter((spelling) => spelling !== target);
}
