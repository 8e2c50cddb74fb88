/** Whether a filter that Envoy runs before headgate's check can have written the metadata that a policy file names. */
import type { VouchedMetadata } from '../../../../gateway/core/identity/vouched.ts';
import { at, mapsWith, textAt } from '../yaml.ts';
import { type CheckedManager, type Filter, filtersBefore } from './config.ts';

/** The filter writes to this namespace whatever its own name is. */
const TOKENS = 'envoy.filters.http.jwt_authn';
const KEYS = ['payload_in_metadata', 'header_in_metadata', 'failed_status_in_metadata'];

/** Returns why nothing writes it, or undefined if a filter of one of the listeners can. */
export function unwrittenIn(
  managers: readonly CheckedManager[],
  named: VouchedMetadata,
): string | undefined {
  const problems = managers.map((manager) => problemOf(manager, named));
  return problems.includes(undefined) ? undefined : problems[0];
}

function problemOf(manager: CheckedManager, { metadata, claim }: VouchedMetadata) {
  const before = filtersBefore(manager).filter(({ map }) => at(map, 'disabled') !== true);
  const isElsewhere = before.some(({ map }) => at(map, 'config_discovery') !== undefined);
  if (isElsewhere) return undefined;
  if (metadata === TOKENS) return tokenProblem(manager, before, claim[0]);
  if (manager.hasConnectionFilters || before.some(mayWriteAny)) return undefined;
  return `no filter before ${manager.check.name} writes ${metadata}`;
}

function tokenProblem({ check }: CheckedManager, before: readonly Filter[], first = '') {
  const readers = before.map(tokenReaders);
  // A script, for example, can write to this namespace, too.
  const isNamed = ({ map }: Filter, i: number) =>
    readers[i]?.length === 0 && JSON.stringify(map).includes(TOKENS);
  if (before.some(isNamed)) return undefined;
  if (readers.flat().length === 0)
    return `no filter jwt_authn stands before ${check.name}, so nothing writes ${TOKENS}`;
  const written = readers
    .flat()
    .flatMap((reader) => Object.values(at(reader, 'providers') ?? {}))
    .flatMap((provider) => KEYS.map((key) => textAt(provider, key)))
    .filter((name) => name !== undefined && name !== '');
  if (written.includes(first)) return undefined;
  return written.length === 0
    ? `the filter jwt_authn before ${check.name} has no payload_in_metadata, so it writes no ${TOKENS}`
    : `the filter jwt_authn before ${check.name} writes ${written.slice(0, 3).join(', ')}, and a claim begins with ${first}`;
}

function tokenReaders({ map }: Filter) {
  return mapsWith(at(map, 'typed_config'), '@type').filter((each) =>
    /\.jwt_authn\.v\w+\.JwtAuthentication$/.test(String(each['@type'])),
  );
}

function mayWriteAny({ name, config }: Filter): boolean {
  const type = textAt(config, '@type') ?? '';
  return !name.startsWith('headgate.') && !/\.(buffer|cors|header_mutation|jwt_authn)\./.test(type);
}
