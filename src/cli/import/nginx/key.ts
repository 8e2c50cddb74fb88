import { exemptBy, geoMapMeaning } from './geo-key.ts';
import { type KeyMeaning, meaningOfParts, variablesIn } from './key-parts.ts';
import { mapMeaning } from './map-key.ts';
import type { Variables } from './variables.ts';

const MAX_DEPTH = 5;

export function keyMeaning(key: string, variables: Variables, depth = 0): KeyMeaning {
  if (depth > MAX_DEPTH) return 'its variables are made of each other';
  const names = variablesIn(key);
  const [only = ''] = names;
  if (names.length === 1 && /^\$\{?\w+\}?$/.test(key)) {
    const made = variables.get(only);
    if (made?.kind === 'map') {
      const read = (expression: string) => keyMeaning(expression, variables, depth + 1);
      const [source = '', second] = variablesIn(made.source);
      const inner = second === undefined ? variables.get(source) : undefined;
      const isPlain = made.values.every(({ pattern }) => !pattern.startsWith('~'));
      if (inner?.kind === 'geo' && isPlain) return geoMapMeaning(made, inner, read);
      return mapMeaning(made, second === undefined ? source : '', read);
    }
    if (made?.kind === 'geo') {
      if (made.fallback === '') return 'it limits only the networks that geo lists';
      return { per: 'global', exempt: exemptBy(made, (result) => result), remarks: [] };
    }
  }
  return meaningOfParts(names, variables);
}
