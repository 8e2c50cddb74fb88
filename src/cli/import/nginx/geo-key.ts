/** What a map of the result of `geo` counts by. */
import { holdsOneOf } from '../shared/ranges.ts';
import { approximate, isAddressVariable, type KeyMeaning } from './key-parts.ts';
import type { GeoVariable, MapVariable } from './variables.ts';

/** A network inside of another may have a key again, and then the other cannot be exempt. */
export function exemptBy(
  { source, networks }: GeoVariable,
  keyOf: (result: string) => string,
): string[] {
  if (source !== undefined && !isAddressVariable(source.slice(1))) return [];
  const limited = networks.filter(({ result }) => keyOf(result) !== '').map((each) => each.network);
  const unlimited = networks.filter(({ result }) => keyOf(result) === '');
  return unlimited.map(({ network }) => network).filter((each) => !holdsOneOf(each, limited));
}

const OTHER_NETWORKS =
  'some networks of geo have another key, and headgate counts them like all others';

export function geoMapMeaning(
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
  const exempt = exemptBy(geo, resultOf);
  const others = geo.networks.filter(
    ({ network, result }) => resultOf(result) !== expression && !exempt.includes(network),
  );
  return {
    ...meaning,
    exempt,
    remarks: [...meaning.remarks, ...(others.length === 0 ? [] : [approximate(OTHER_NETWORKS)])],
  };
}
