/** What is wrong with the checks of a file of Envoy, and with what its routes change about them. */
import type { Diagnostic } from '../../../../gateway/config/diagnostic.ts';
import { found } from '../catalog.ts';
import { at, listAt, textAt, type YamlMap } from '../yaml.ts';
import { checkOf, type EnvoyFile, type Filter, type Manager } from './config.ts';
import {
  isExactPath,
  isNarrow,
  isSwitchedOff,
  levelsOf,
  routeName,
  type Setting,
  settingsOf,
} from './route.ts';

export function envoyFindings(envoy: EnvoyFile): Diagnostic[] {
  const { placeOf } = envoy;
  return envoy.managers.flatMap((manager) => {
    const check = checkOf(manager, envoy);
    if (check === undefined) return [];
    const input = { manager, check, placeOf };
    return [
      ...checkFindings(input),
      ...everyLevel(manager).flatMap((level) => levelFindings(level, input)),
      ...oddSpellings(input),
    ];
  });
}

interface Input {
  readonly manager: Manager;
  readonly check: Filter;
  readonly placeOf: (map: YamlMap) => string;
}

function everyLevel({ hosts }: Manager): YamlMap[] {
  const owners = new Set(hosts.map(({ owner }) => owner));
  return [...owners, ...hosts.flatMap(({ map, routes }) => [map, ...routes])];
}

/** About a setting whose filter does not exist or exists twice, or with its own service. */
function levelFindings(level: YamlMap, { manager, placeOf }: Input): Diagnostic[] {
  const namesakes = (name: string) => manager.filters.filter((each) => each.name === name);
  const place = placeOf(level);
  return settingsOf(level).flatMap(({ filter, isExtAuthz, hasService }) => {
    const others = namesakes(filter);
    if (isExtAuthz && others.length === 0)
      return [found('setting-without-filter', place, `no filter has the name ${filter}`)];
    if (others.length > 1)
      return [
        found('shared-filter-name', place, `${others.length} filters have the name ${filter}`),
      ];
    return hasService
      ? [found('service-of-route', place, `sets a service for ${filter} on its own`)]
      : [];
  });
}

/** Routes without the check, or with the policy that they name, that take all paths with a beginning. */
function oddSpellings({ manager, check, placeOf }: Input): Diagnostic[] {
  if (isNormalized(manager.map)) return [];
  return manager.hosts.flatMap((host) =>
    host.routes.flatMap((route) => {
      const { match } = route;
      const own = settingsOf(route).find(({ filter }) => filter === check.name);
      const effect = effectOf(own);
      if (effect === undefined || isExactPath(match) || !isNarrow(match)) return [];
      const problem = `${routeName(match)} ${effect}, and Envoy matches paths as they are written: /x/../login begins with /x/`;
      return [found('spelling-skips-check', placeOf(route), problem)];
    }),
  );
}

function effectOf(setting: Setting | undefined): string | undefined {
  if (setting?.isOff === true) return 'is not checked';
  return setting?.policy === undefined ? undefined : `counts by the policy ${setting.policy}`;
}

/** No dot segment is left, however it is written. */
function isNormalized(manager: YamlMap): boolean {
  const action = textAt(manager, 'path_with_escaped_slashes_action');
  const isUnescaped = action !== undefined && !/^(KEEP|IMPL)/.test(action);
  return at(manager, 'normalize_path') === true && isUnescaped;
}

interface Examined {
  readonly manager: Manager;
  readonly check: Filter;
  readonly placeOf: EnvoyFile['placeOf'];
}

function checkFindings({ manager, check, placeOf }: Examined): Diagnostic[] {
  const add = (id: Parameters<typeof found>[0], problems: readonly (string | undefined)[]) =>
    problems.flatMap((problem) =>
      problem === undefined ? [] : [found(id, placeOf(check.map), problem)],
    );
  return [
    ...add('check-not-enforced', [
      partly(check),
      ...['filter_enabled_metadata', 'shadow_mode']
        .filter((key) => at(check.config, key) !== undefined && at(check.config, key) !== false)
        .map((key) => `${check.name} has ${key}, so some requests pass whatever headgate answers`),
      offEverywhere(manager, check),
    ]),
    ...add('check-timeout', [timeout(check)]),
    ...add('request-id-from-client', [requestId(manager, check)]),
  ];
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

function offEverywhere({ hosts }: Manager, check: Filter): string | undefined {
  const routes = hosts.flatMap((host) => host.routes.map((route) => levelsOf(route, host)));
  const isOff = routes.length > 0 && routes.every((levels) => isSwitchedOff(check, levels));
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

function requestId(manager: Manager, check: Filter): string | undefined {
  if (!sendsRequestId(manager, check)) return undefined;
  if (at(manager.map, 'preserve_external_request_id') === true)
    return 'preserve_external_request_id lets clients choose the id by which headgate counts a request once';
  if (at(manager.map, 'use_remote_address') !== true)
    return 'without use_remote_address, clients choose the id by which headgate counts a request once';
  if (listAt(manager.map, 'internal_address_config', 'cidr_ranges').length === 0)
    return 'without cidr_ranges in internal_address_config, clients with private addresses choose the id by which headgate counts a request once';
  return undefined;
}

/** Over HTTP the filter sends it, over gRPC a route names the header. */
export function sendsRequestId({ hosts }: Manager, { name, config }: Filter): boolean {
  const sent = listAt(config, 'http_service', 'authorization_request', 'headers_to_add');
  if (sent.some((each) => textAt(each, 'key')?.toLowerCase() === REQUEST_ID)) return true;
  return hosts
    .flatMap((host) => [host.owner, host.map, ...host.routes])
    .flatMap(settingsOf)
    .some((each) => each.filter === name && each.hasRequestId);
}
