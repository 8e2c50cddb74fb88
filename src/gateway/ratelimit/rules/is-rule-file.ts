/** Tells rate limit files from policy files, without parsing them: files with mistakes are told apart too. */

/** Keys at the top of a file, which may be written as one flow map. */
const KEY_OF_RULES = /^(?:\{[ \t]*)?["']?(?:domain|descriptors)["']?[ \t]*:/m;
const KEY_OF_POLICIES = /^(?:\{[ \t]*)?["']?(?:version|policies|default)["']?[ \t]*:/m;

export function isRuleFile(text: string): boolean {
  return KEY_OF_RULES.test(text) && !KEY_OF_POLICIES.test(text);
}
