import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { found } from '../catalog.ts';
import { at, listAt, textAt, type YamlMap } from '../yaml.ts';
import type { CheckedManager, EnvoyFile, Filter, Manager } from './config.ts';
import {
  isExactPath,
  isNarrow,
  isSwitchedOff,
  routeName,
  type Setting,
  settingsOf,
} from './route.ts';

type PlaceOf = EnvoyFile['placeOf'];

export function envoyFindings({ checked, placeOf }: EnvoyFile): Diagnostic[] {
  return checked.flatMap((manager) => [
    ...checkFindings(manager, placeOf),
    ...everyLevel(manager).flatMap((level) => levelFindings(level, manager, placeOf(level))),
    ...oddSpellings(manager, placeOf),
  ]);
}

function everyLevel({ hosts }: Manager): YamlMap[] {
  const all = hosts.flatMap(({ levels, routes }) => [
    ...levels.toReversed(),
    ...routes.map(({ map }) => map),
  ]);
  return [...new Set(all)];
}

/** Finds settings whose filter does not exist or exists twice, or with their own service. */
function levelFindings(level: YamlMap, manager: Manager, place: string): Diagnostic[] {
  return settingsOf(level).flatMap(({ filter, isExtAuthz, hasService }) => {
    const { length } = manager.filters.filter(({ name }) => name === filter);
    if (isExtAuthz && length === 0)
      return [found('setting-without-filter', place, `no filter has the name ${filter}`)];
    if (length > 1)
      return [found('shared-filter-name', place, `${length} filters have the name ${filter}`)];
    return hasService
      ? [found('service-of-route', place, `sets a service for ${filter} on its own`)]
      : [];
  });
}

/** Finds routes without the check, or with their own policy, that take all paths with a beginning. */
function oddSpellings({ map, check, routes }: CheckedManager, placeOf: PlaceOf): Diagnostic[] {
  if (isNormalized(map)) return [];
  return routes.flatMap(({ map, match }) => {
    const own = settingsOf(map).find(({ filter }) => filter === check.name);
    const effect = effectOf(own);
    if (effect === undefined || isExactPath(match) || !isNarrow(match)) return [];
    const problem = `${routeName(match)} ${effect}, and Envoy matches paths as they are written: /x/../login begins with /x/`;
    return [found('spelling-skips-check', placeOf(map), problem)];
  });
}

function effectOf(setting: Setting | undefined): string | undefined {
  if (setting?.isOff === true) return 'is not checked';
  return setting?.policy === undefined ? undefined : `counts by the policy ${setting.policy}`;
}

function isNormalized(manager: YamlMap): boolean {
  const action = textAt(manager, 'path_with_escaped_slashes_action');
  const isUnescaped = action !== undefined && !/^(KEEP|IMPL)/.test(action);
  return at(manager, 'normalize_path') === true && isUnescaped;
}

function checkFindings(manager: CheckedManager, placeOf: PlaceOf): Diagnostic[] {
  const { check } = manager;
  const { name, config, map } = check;
  const marks = ['filter_enabled_metadata', 'shadow_mode'].filter(
    (key) => (at(config, key) ?? false) !== false,
  );
  const unenforced = [
    partly(check),
    ...marks.map((key) => `${name} has ${key}, so some requests pass whatever headgate answers`),
    offEverywhere(manager),
  ];
  const problems = [
    ...unenforced.map((text) => ['check-not-enforced', text] as const),
    ['check-timeout', timeout(check)] as const,
    ['request-id-from-client', requestId(manager)] as const,
  ];
  return problems.flatMap(([id, text]) =>
    text === undefined ? [] : [found(id, placeOf(map), text)],
  );
}

const PARTS = new Map([
  ['TEN_THOUSAND', 10_000],
  ['MILLION', 1_000_000],
]);

function partly({ name, config, isConditional }: Filter): string | undefined {
  if (isConditional) return `a matcher decides which requests ${name} checks`;
  const enabled = at(config, 'filter_enabled', 'default_value');
  if (at(config, 'filter_enabled') === undefined) return undefined;
  const numerator = Number(at(enabled, 'numerator') ?? 0);
  const share = numerator / (PARTS.get(textAt(enabled, 'denominator') ?? '') ?? 100);
  if (share >= 1) return undefined;
  const others =
    at(config, 'deny_at_disable', 'default_value') === true
      ? 'are refused'
      : 'pass without a check';
  return `${name} checks ${share * 100} % of the requests (filter_enabled); the others ${others}`;
}

function offEverywhere({ routes, check }: CheckedManager): string | undefined {
  const isOff = routes.length > 0 && routes.every(({ levels }) => isSwitchedOff(check, levels));
  return isOff ? `${check.name} is disabled for every route of the listener` : undefined;
}

const MIN_SECONDS = 0.06;
const MAX_SECONDS = 1;

function timeout({ config }: Filter): string | undefined {
  const text =
    textAt(config, 'http_service', 'server_uri', 'timeout') ??
    textAt(config, 'grpc_service', 'timeout');
  const seconds = Number(/^([\d.]+)s$/.exec(text ?? '')?.[1] ?? Number.NaN);
  if (seconds === 0)
    return 'timeout: 0s means no timeout since Envoy 1.38: while the gateway hangs, requests wait for ever';
  if (seconds < MIN_SECONDS)
    return `timeout: ${text} is shorter than headgate may take, and late checks count as failed`;
  if (seconds > MAX_SECONDS)
    return `timeout: ${text} is how long each request waits while the gateway hangs`;
  return undefined;
}

const REQUEST_ID = 'x-headgate-request-id';

function requestId(manager: CheckedManager): string | undefined {
  if (!sendsRequestId(manager)) return undefined;
  if (at(manager.map, 'preserve_external_request_id') === true)
    return 'preserve_external_request_id lets clients choose the id by which headgate counts a request once';
  if (at(manager.map, 'use_remote_address') !== true)
    return 'without use_remote_address, clients choose the id by which headgate counts a request once';
  if (listAt(manager.map, 'internal_address_config', 'cidr_ranges').length === 0)
    return 'without cidr_ranges in internal_address_config, clients with private addresses choose the id by which headgate counts a request once';
  return undefined;
}

/** Over HTTP the filter sends it, over gRPC a route names the header. */
export function sendsRequestId(manager: CheckedManager): boolean {
  const { name, config } = manager.check;
  const sent = listAt(config, 'http_service', 'authorization_request', 'headers_to_add');
  if (sent.some((each) => textAt(each, 'key')?.toLowerCase() === REQUEST_ID)) return true;
  return everyLevel(manager)
    .flatMap(settingsOf)
    .some((each) => each.filter === name && each.hasRequestId);
}
