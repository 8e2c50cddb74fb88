import type { Diagnostic } from '../../../gateway/config/diagnostic.ts';
import type { RedisTarget } from '../../../gateway/config/settings/redis-url.ts';
import type { ServerInfo } from '../../../gateway/stores/redis/server-state.ts';
import { fault, fine, note, warning } from './diagnostics.ts';
import {
  isOlder,
  knownVulnerabilities,
  missingFixes,
  type Product,
} from './known-vulnerabilities.ts';

const OLDEST_REDIS = [6, 2] as const;
const NEARLY_FULL = 0.8;
const MIB = 1_048_576;

const KINDS = {
  single: ['not a cluster node', 'redis://'],
  sentinel: ['a sentinel', 'redis+sentinel://host:26379/mymaster'],
  cluster: ['a cluster node', 'redis+cluster://'],
} as const;

export function unusable(info: ServerInfo, kind: RedisTarget['kind']): Diagnostic | undefined {
  const runsAs = kindOf(info);
  if (runsAs !== (kind === 'cluster' ? 'cluster' : 'single')) {
    const [what, url] = KINDS[runsAs];
    return fault(`is ${what}: write ${url} in the URL`);
  }
  if (info.number('loading') === 1 || info.number('async_loading') === 1) {
    const seconds = info.text('loading_eta_seconds');
    const left = seconds === undefined ? '' : `, about ${seconds} s left`;
    return fault(`is loading its data${left}: gateways can count there when it has finished`);
  }
  if (info.text('role') === 'slave') {
    const master = `${info.text('master_host')}:${info.text('master_port')}`;
    return fault(
      `is a replica of ${master} and refuses writes: put the master in the URL, or sentinels`,
    );
  }
  return undefined;
}

function kindOf(info: ServerInfo): RedisTarget['kind'] {
  const mode = info.text('redis_mode') ?? info.text('server_mode');
  return mode === 'cluster' || mode === 'sentinel' ? mode : 'single';
}

interface Use extends Pick<RedisTarget, 'kind' | 'tls'> {
  readonly keysInStore?: boolean | undefined;
}

export function* serverFindings(
  info: ServerInfo,
  { kind, tls, keysInStore = false }: Use,
): Generator<Diagnostic> {
  yield* versionFindings(info, tls);
  yield* memoryFindings(info);
  yield* persistenceFindings(info, keysInStore);
  if (kind !== 'single' && info.number('connected_slaves') === 0) {
    yield note('has no replica: if it fails, its counters are lost');
  }
}

function* versionFindings(info: ServerInfo, tls: boolean): Generator<Diagnostic> {
  const valkey = info.text('valkey_version');
  const product: Product = valkey === undefined ? 'Redis' : 'Valkey';
  const version = valkey ?? info.text('redis_version') ?? '';
  const missing = missingFixes(product, version, { tls });
  if (product === 'Redis' && isOlder(version, OLDEST_REDIS)) {
    yield warning(
      `version ${version} is older than ${OLDEST_REDIS.join('.')}, the oldest version that headgate supports: upgrade`,
    );
  }
  const ofList = `the list of ${knownVulnerabilities().updated}`;
  if (missing === undefined) {
    yield fine(
      `${product} ${version}, a master; no known vulnerabilities in ${ofList}, which is incomplete`,
    );
    return;
  }
  yield fine(`${product} ${version}, a master`);
  const names = missing.names.join(', ');
  const line = version.split('.', 2).join('.');
  const fix =
    missing.fixedIn === undefined
      ? `the release line ${line} has no fix for ${names}: upgrade to a later line`
      : `${names} ${missing.names.length === 1 ? 'is' : 'are'} fixed in ${missing.fixedIn}: upgrade`;
  yield warning(
    `version ${version} has known vulnerabilities (${ofList}), unless your distribution has patched it; ${fix}, and let no other account run scripts`,
  );
}

function* memoryFindings(info: ServerInfo): Generator<Diagnostic> {
  const max = info.number('maxmemory');
  const used = info.number('used_memory');
  const policy = info.text('maxmemory_policy') ?? 'unknown';
  const evicted = info.number('evicted_keys');
  if (max === 0) {
    yield note(
      `has no memory limit (maxmemory 0), ${mib(used)} are used: make sure the machine has enough memory`,
    );
  } else {
    const share = `${mib(used)} of ${mib(max)} are used`;
    if (policy === 'noeviction') yield fine(`maxmemory-policy is noeviction, ${share}`);
    else
      yield warning(
        `maxmemory-policy is ${policy}: evicting a key resets a counter; set it to noeviction`,
      );
    if (used > NEARLY_FULL * max) {
      yield warning(
        `is nearly full, ${share}: raise maxmemory, or move other data to another server`,
      );
    }
  }
  if (evicted > 0) {
    yield warning(
      `has evicted ${evicted} ${evicted === 1 ? 'key' : 'keys'} since it started, perhaps counters: raise maxmemory`,
    );
  }
}

/** Counting does not need persistence, and API keys do. Problems with it may prevent counting. */
function* persistenceFindings(info: ServerInfo, keysInStore: boolean): Generator<Diagnostic> {
  // INFO does not say whether the server makes snapshots.
  if (keysInStore && info.text('aof_enabled') === '0') {
    yield warning(
      'keeps API keys (keys: redis), and appendonly is off: if it crashes, keys that are newer than its last snapshot are lost, and all keys if it makes none; set appendonly to yes',
    );
  }
  if (info.text('rdb_last_bgsave_status') === 'err') {
    yield warning(
      'could not save its last snapshot and may therefore refuse writes (MISCONF): check its disk',
    );
  }
  const delayed = info.number('aof_delayed_fsync');
  if (delayed > 0) {
    const remedy = keysInStore
      ? 'API keys need appendonly, so give it a faster disk'
      : 'counters do not need appendonly, so turn it off';
    yield warning(
      `waited for its disk ${delayed} ${delayed === 1 ? 'time' : 'times'} (aof_delayed_fsync): ${remedy}`,
    );
  }
}

function mib(bytes: number): string {
  const amount = bytes / MIB;
  return `${amount.toFixed(amount < 10 ? 1 : 0)} MiB`;
}
