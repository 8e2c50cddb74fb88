/** What a map counts by. */
import { templatesOf, templatesOfPath } from '../shared/path-regex.ts';
import { countedMethods } from '../shared/request-set.ts';
import { approximate, isAddressHeader, isAddressVariable, type KeyMeaning } from './key-parts.ts';
import type { MapVariable } from './variables.ts';

const ADDRESS_OR_NETWORK = /^[0-9a-f]*[.:][0-9a-f.:]*(\/\d{1,3})?$/i;
const PATH = /^\$\{?(?:request_uri|uri|document_uri)\}?$/;

type ReadKey = (expression: string) => KeyMeaning;

/** The default says what is counted; values with an empty result say what is not. `source` is the only variable. */
export function mapMeaning(map: MapVariable, source: string, read: ReadKey): KeyMeaning {
  if (map.source === '$request_method') return methodMeaning(map, read);
  const isOfHeader = isAddressHeader(source) && map.values.every(({ result }) => result !== '');
  const meaning = map.fallback === '' ? undefined : read(map.fallback);
  if (typeof meaning === 'object') return defaultMeaning(map, source, { meaning, read });
  if (isOfHeader) return { per: 'ip', remarks: [approximate(BY_ADDRESS)] };
  if (meaning === undefined) return PATH.test(map.source) ? pathMeaning(map, read) : only(map);
  return otherMeaning(map, read) ?? meaning;
}

const BY_ADDRESS =
  'NGINX counts the address that the map reads from a header. headgate counts the address that your proxy reports, or the one that identity.trusted_proxies vouch for';

function only({ source }: MapVariable): string {
  return `only requests with some values of ${source} have a key, and headgate has no such condition`;
}

/** headgate cannot count by the default, but by the address, as the map does for some values. */
function otherMeaning(map: MapVariable, read: ReadKey): KeyMeaning | undefined {
  const all = map.values.map(({ result }) => (result === '' ? undefined : read(result)));
  const meaning = all.find((each) => typeof each === 'object' && each.per === 'ip');
  if (typeof meaning !== 'object') return undefined;
  const why = `headgate cannot count by ${map.fallback}, the default of the map. It counts all requests by address, as the map does for some values of ${map.source}`;
  return { ...meaning, exempt: [], remarks: [...meaning.remarks, approximate(why)] };
}

interface Default {
  readonly meaning: Exclude<KeyMeaning, string>;
  readonly read: ReadKey;
}

function defaultMeaning(map: MapVariable, source: string, { meaning, read }: Default): KeyMeaning {
  const missing = map.values.find(({ pattern }) => pattern === '')?.result;
  const isExempt = ({ pattern, result }: MapVariable['values'][number]) =>
    isAddressVariable(source) && result === '' && ADDRESS_OR_NETWORK.test(pattern);
  const exempt = map.values.filter(isExempt).map(({ pattern }) => pattern);
  const others = map.values.filter(
    (each) => each.pattern !== '' && each.result !== map.fallback && !isExempt(each),
  );
  const sameHeader = meaning.per === `header:${source.replace(/^http_/, '').replaceAll('_', '-')}`;
  const whenMissing = missing === undefined ? undefined : read(missing);
  const falls = sameHeader && typeof whenMissing === 'object' && whenMissing.per === 'ip';
  const remarks = falls ? [] : [...meaning.remarks];
  if (others.length > 0 || (missing !== undefined && !falls)) {
    const why = `for some values of ${map.source} the map gives another key, and headgate counts all requests by the default of the map. Exempt clients by address or API key in "exempt", if the map is for that`;
    remarks.push(approximate(why));
  }
  // Some of the networks that the default exempts may have one of the other keys.
  const ofDefault = others.some(({ result }) => result !== '') ? [] : (meaning.exempt ?? []);
  return { ...meaning, exempt: [...ofDefault, ...exempt], remarks };
}

function methodMeaning(map: MapVariable, read: ReadKey): KeyMeaning {
  const isEmpty = map.fallback === '';
  const differing = map.values.filter(({ result }) => (result === '') !== isEmpty);
  const expression = isEmpty ? (differing[0]?.result ?? '') : map.fallback;
  if (expression === '') return 'the map gives no key';
  const meaning = read(expression);
  if (typeof meaning === 'string' || differing.length === 0) return meaning;
  const written = differing.map(({ pattern }) => pattern.toUpperCase());
  if (written.some((name) => !/^[A-Z-]+$/.test(name)))
    return 'the map compares methods by a pattern';
  const names = countedMethods(written);
  if (names.length === 0) return isEmpty ? 'headgate counts HEAD as GET' : meaning;
  return { ...meaning, methods: { are: isEmpty ? 'only' : 'all-but', names } };
}

/** A map that gives a key to some paths becomes policies for these. */
function pathMeaning(map: MapVariable, read: ReadKey): KeyMeaning {
  const keyed = map.values.filter(({ result }) => result !== '');
  const first = keyed.map(({ result }) => read(result)).find((each) => typeof each === 'object');
  const found = keyed.map(({ pattern }) => pathsOf(pattern));
  const paths = found.flatMap((each) => each?.templates ?? []);
  if (typeof first !== 'object' || paths.length === 0) return only(map);
  const left = keyed.filter((_, i) => found[i] === undefined).map(({ pattern }) => pattern);
  const more =
    left.length === 0
      ? ''
      : `. A policy file cannot have ${left.join(', ')}: write policies for these`;
  const why = `the map gives a key to some values of ${map.source}, so the limit holds for ${paths.join(', ')}${more}`;
  return { ...first, exempt: [], paths, remarks: [...first.remarks, approximate(why)] };
}

function pathsOf(pattern: string) {
  const [, sign, expression = ''] = /^(~\*?)?(.*)$/s.exec(pattern) ?? [];
  return sign === undefined ? templatesOfPath(expression, 'exact') : templatesOf(expression);
}
