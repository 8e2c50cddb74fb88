import {
  approximate,
  isAddressVariable,
  type KeyMeaning,
  meaningOfParts,
  variablesIn,
} from './key-parts.ts';
import type { GeoVariable, MapVariable, Variables } from './variables.ts';

const MAX_DEPTH = 5;
const ADDRESS_OR_NETWORK = /^[0-9a-f]*[.:][0-9a-f.:]*(\/\d{1,3})?$/i;

export function keyMeaning(key: string, variables: Variables, depth = 0): KeyMeaning {
  if (depth > MAX_DEPTH) return 'its variables are made of each other';
  const names = variablesIn(key);
  const [only = ''] = names;
  if (names.length === 1 && /^\$\{?\w+\}?$/.test(key)) {
    const made = variables.get(only);
    if (made?.kind === 'map') return mapMeaning(made, variables, depth);
    if (made?.kind === 'geo') {
      const unlimited = made.networks.filter(({ result }) => result === '');
      if (made.fallback === '') return 'it limits only the networks that geo lists';
      return { per: 'global', exempt: unlimited.map(({ network }) => network), remarks: [] };
    }
  }
  return meaningOfParts(names, variables);
}

/** The default says what is counted; values with an empty result say what is not. */
function mapMeaning(map: MapVariable, variables: Variables, depth: number): KeyMeaning {
  const source = variablesIn(map.source);
  const made = source.length === 1 ? variables.get(source[0] ?? '') : undefined;
  const read = (expression: string) => keyMeaning(expression, variables, depth + 1);
  if (made?.kind === 'geo') return geoMapMeaning(map, made, read);
  if (map.source === '$request_method') return methodMeaning(map, read);
  const missing = map.values.find(({ pattern }) => pattern === '')?.result;
  const meaning = read(map.fallback);
  if (map.fallback === '')
    return `only requests with some values of ${map.source} have a key, and headgate has no such condition`;
  if (typeof meaning === 'string') return meaning;
  const isByAddress = isAddressVariable(source[0] ?? '');
  const isExempt = ({ pattern, result }: MapVariable['values'][number]) =>
    isByAddress && result === '' && ADDRESS_OR_NETWORK.test(pattern);
  const exempt = map.values.filter(isExempt).map(({ pattern }) => pattern);
  const others = map.values.filter(
    (each) => each.pattern !== '' && each.result !== map.fallback && !isExempt(each),
  );
  const sameHeader =
    meaning.per === `header:${(source[0] ?? '').replace(/^http_/, '').replaceAll('_', '-')}`;
  const whenMissing = missing === undefined ? undefined : read(missing);
  const falls = sameHeader && typeof whenMissing === 'object' && whenMissing.per === 'ip';
  const remarks = falls ? [] : [...meaning.remarks];
  if (others.length > 0 || (missing !== undefined && !falls)) {
    const why = `for some values of ${map.source} the map gives another key, and headgate counts all requests by the default of the map. Exempt clients by address or API key in "exempt", if the map is for that`;
    remarks.push(approximate(why));
  }
  return { ...meaning, exempt: [...(meaning.exempt ?? []), ...exempt], remarks };
}

function methodMeaning(map: MapVariable, read: (expression: string) => KeyMeaning): KeyMeaning {
  const isEmpty = map.fallback === '';
  const differing = map.values.filter(({ result }) => (result === '') !== isEmpty);
  const expression = isEmpty ? (differing[0]?.result ?? '') : map.fallback;
  if (expression === '') return 'the map gives no key';
  const meaning = read(expression);
  if (typeof meaning === 'string' || differing.length === 0) return meaning;
  const names = differing.map(({ pattern }) => pattern.toUpperCase());
  if (names.some((name) => !/^[A-Z-]+$/.test(name))) return 'the map compares methods by a pattern';
  return { ...meaning, methods: { are: isEmpty ? 'only' : 'all-but', names } };
}

const OTHER_NETWORKS =
  'some networks of geo have another key, and headgate counts them like all others';

function geoMapMeaning(
  map: MapVariable,
  geo: GeoVariable,
  read: (expression: string) => KeyMeaning,
): KeyMeaning {
  const resultOf = (value: string) =>
    map.values.find(({ pattern }) => pattern === value)?.result ?? map.fallback;
  const expression = resultOf(geo.fallback);
  if (expression === '')
    return 'it limits only the networks that geo lists, and headgate has no such condition';
  const meaning = read(expression);
  if (typeof meaning === 'string') return meaning;
  const exempt = geo.networks.filter(({ result }) => resultOf(result) === '');
  const others = geo.networks.filter(({ result }) => !['', expression].includes(resultOf(result)));
  return {
    ...meaning,
    exempt: exempt.map(({ network }) => network),
    remarks: [...meaning.remarks, ...(others.length === 0 ? [] : [approximate(OTHER_NETWORKS)])],
  };
}
