/** The gateway under attack: the real program, of whose output a bounded part is kept. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createAuthority } from '../../test/support/certificates.ts';
import { startRedisServer } from '../../test/support/redis-server.ts';
import { MAIN, NODE } from '../../test/support/tested-command.ts';
import type { Place } from './drive.ts';
import type { PortName } from './plan.ts';

export interface GatewayOptions {
  readonly workers: number;
  readonly tls: boolean;
  readonly redis: boolean;
  /** Undefined: callers on this machine need none. */
  readonly adminToken: string | undefined;
}

export interface Gateway extends AsyncDisposable {
  readonly pid: number;
  readonly places: Readonly<Record<PortName, Place>>;
  /** What shows a crash: log lines, and the end of the process. */
  readonly crashes: readonly string[];
  /** The lines that are no log lines, as the warnings of Node. */
  readonly oddLines: readonly string[];
  /** Resolves at the first crash. */
  readonly crashed: Promise<void>;
}

const RULES = `
domain: edge
descriptors:
  - key: path
    value: /login
    rate_limit: { unit: minute, requests_per_unit: 5 }
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 100 }
`;
/** On a machine that is busy with other things, too. */
const STARTED_WITHIN_MS = 180_000;
const KILL_AFTER_MS = 15_000;
/** The last ones are faults that end no process, but that no request may cause. */
const CRASH = /"event":"(?:crashed|worker_lost|connection_failed|check_failed|operation_failed)"/;
const MOST_LINES = 20;
const LONGEST_LINE = 4_000;

/** Rejects if it does not start. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  await using opened = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-fuzz-'));
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
  const redis = options.redis ? opened.use(await startRedisServer()) : undefined;
  const child = spawn(NODE, [MAIN, 'serve'], {
    env: environment(options, folder, redis?.url),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Nothing else ends it if the fuzzer itself fails.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const exited = once(child, 'close').then(([code, signal]) => `exit code ${code ?? signal}`);
  const crashes: string[] = [];
  const oddLines: string[] = [];
  const { promise: crashed, resolve: onCrash } = Promise.withResolvers<void>();
  let start = '';
  const started = new Promise<void>((resolve) => {
    const onLine = (line: string) => {
      if (CRASH.test(line)) {
        keep(crashes, line);
        onCrash();
      } else if (!line.startsWith('{')) {
        keep(oddLines, line);
        if (start.length < LONGEST_LINE) start += `${line}\n`;
        if (line.startsWith('  try ')) resolve();
      }
    };
    for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', onLine);
  });
  let isStopping = false;
  opened.defer(async () => {
    isStopping = true;
    child.kill('SIGTERM');
    const timer = setTimeout(kill, KILL_AFTER_MS);
    await exited;
    clearTimeout(timer);
    process.off('exit', kill);
  });
  void exited.then((how) => {
    if (isStopping) return;
    keep(crashes, `the process ended by itself: ${how}`);
    onCrash();
  });
  const tooLate = AbortSignal.timeout(STARTED_WITHIN_MS);
  await Promise.race([started, crashed, once(tooLate, 'abort')]);
  const places = placesIn(start, options.tls);
  oddLines.length = 0;
  const resources = opened.move();
  return {
    ...{ pid: child.pid ?? 0, places, crashes, oddLines, crashed },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function keep(lines: string[], line: string): void {
  if (lines.length < MOST_LINES) lines.push(line.slice(0, LONGEST_LINE));
}

function environment(
  { workers, tls, adminToken }: GatewayOptions,
  folder: string,
  redisUrl: string | undefined,
): NodeJS.ProcessEnv {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(HEADGATE_|REDIS_URL$)/.test(name)),
  );
  const rules = join(folder, 'rules.yaml');
  writeFileSync(rules, RULES);
  return {
    ...inherited,
    HEADGATE_PORT: '0',
    HEADGATE_GRPC_PORT: '0',
    HEADGATE_OPS_PORT: '0',
    HEADGATE_RATELIMIT_HTTP_PORT: '0',
    HEADGATE_RATELIMIT_CONFIG: rules,
    HEADGATE_DRAIN_MS: '0',
    HEADGATE_WORKERS: String(workers),
    ...(tls && tlsSettings(folder)),
    ...(adminToken !== undefined && { HEADGATE_ADMIN_TOKEN: adminToken }),
    ...(redisUrl !== undefined && { HEADGATE_REDIS_URL: redisUrl }),
  };
}

function tlsSettings(folder: string): NodeJS.ProcessEnv {
  const { certificate, key } = createAuthority(folder).issue('gateway');
  return { HEADGATE_GRPC_TLS_CERT: certificate, HEADGATE_GRPC_TLS_KEY: key };
}

/** Throws an Error if the banner does not have them all. */
function placesIn(banner: string, tls: boolean): Record<PortName, Place> {
  const place = (pattern: RegExp, hasTls = false): Place => {
    const port = Number(pattern.exec(banner)?.[1] ?? 0);
    if (port === 0) throw new Error(`the gateway did not start:\n${banner}`);
    return { port, hasTls };
  };
  return {
    check: place(/proxies at http:\/\/[\d.]+:(\d+)/),
    ops: place(/operators at http:\/\/[\d.]+:(\d+)/),
    grpc: place(/grpc +https?:\/\/[\d.]+:(\d+)/, tls),
    json: place(/json +http:\/\/[\d.]+:(\d+)/),
  };
}
