/** Fields that the caller wants by name: an API key, a user. */
import { hint } from '../../../../gateway/config/closest-word.ts';

/** NGINX writes its variables with a `$`. */
export function fieldName(name: string): string {
  return name.replace(/^\$/, '');
}

export function missingField(name: string, format: string, known: readonly string[]): string {
  const meant = hint(fieldName(name), known);
  return `--map: lines of ${format} have no field "${name}"${meant}; they have: ${known.join(', ')}`;
}
