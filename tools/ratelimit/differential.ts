/**
 * Asks headgate, with aligned windows, and envoyproxy/ratelimit the same random calls on the same random configurations,
 * and prints where their answers differ. Exits with 1 if they do.
 *
 *     node tools/ratelimit/differential.ts --binary service_cmd [--calls 100000] [--seed 1]
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { compileRules } from '../../src/gateway/ratelimit/rules/compile.ts';
import { startProcess } from '../../test/support/process.ts';
import { Random } from '../../test/support/random.ts';
import {
  connectRateLimit,
  type RateLimitClient,
  type RateLimitResponse,
  requestBytes,
} from '../../test/support/rate-limits.ts';
import { startRedisServer } from '../../test/support/redis-server.ts';
import { randomCall, randomConfiguration } from './random-rules.ts';
import { HOW_TO_GET, startRival } from './rival.ts';

const { values } = parseArgs({
  options: {
    binary: { type: 'string' },
    calls: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
  },
});
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const CALLS_EACH = 5_000;
const DOMAINS = ['one', 'two'];
const MOST_SHOWN = 20;

async function compare(binary: string, calls: number, random: Random): Promise<number> {
  let differences = 0;
  for (let done = 0; done < calls; done += CALLS_EACH) {
    await using redis = await startRedisServer();
    const files = validFiles(random);
    const folder = mkdtempSync(join(tmpdir(), 'headgate-differential-'));
    for (const [i, text] of files.entries()) writeFileSync(join(folder, `${i}.yaml`), text);
    await using theirs = await startRival({
      ...{ path: binary, redisPort: redis.port, folder: join(folder, '.theirs'), files },
      env: { LIMIT_RESPONSE_HEADERS_ENABLED: 'true' },
    });
    await using ours = startProcess(process.execPath, [MAIN], {
      env: environment(redis.port, folder),
    });
    const [, port = ''] = await ours.printed(/grpc +http:\/\/[\d.]+:(\d+)/);
    using clientOfOurs = connectRateLimit(Number(port));
    using clientOfTheirs = connectRateLimit(theirs.grpcPort);
    for (let i = 0; i < Math.min(CALLS_EACH, calls - done); i++) {
      const call = randomCall(random, DOMAINS);
      const [a, b] = await both(requestBytes(call), clientOfOurs, clientOfTheirs);
      if (a === b) continue;
      differences++;
      if (differences > MOST_SHOWN) continue;
      console.log(
        `\n${JSON.stringify(call)}\n  headgate:              ${a}\n  envoyproxy/ratelimit:  ${b}`,
      );
      if (differences === 1) console.log(files.join('---\n'));
    }
    rmSync(folder, { recursive: true });
    console.log(`${done + CALLS_EACH} calls, ${differences} differences`);
  }
  return differences;
}

function environment(redisPort: number, folder: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    HEADGATE_PORT: 'off',
    HEADGATE_GRPC_PORT: '0',
    HEADGATE_OPS_PORT: '0',
    HEADGATE_REDIS_URL: `redis://127.0.0.1:${redisPort}`,
    HEADGATE_STORE_TIMEOUT_MS: '5000',
    HEADGATE_RATELIMIT_CONFIG: folder,
    HEADGATE_RATELIMIT_WINDOWS: 'aligned',
    HEADGATE_RATELIMIT_HEADERS: 'on',
    HEADGATE_RATELIMIT_BODY: 'off',
  };
}

function validFiles(random: Random): string[] {
  return DOMAINS.map((domain) => {
    for (;;) {
      const value = randomConfiguration(random, domain);
      try {
        compileRules([{ name: domain, value }], { mergeDomains: false });
        return stringify(value);
      } catch {
        // Another one.
      }
    }
  });
}

/** Both answers come from the same second, in which all windows are the same. */
async function both(
  bytes: Buffer,
  ours: RateLimitClient,
  theirs: RateLimitClient,
): Promise<[string, string]> {
  const untilNextMs = 1_000 - (Date.now() % 1_000);
  if (untilNextMs < 100) await sleep(untilNextMs + 5);
  const second = secondOf(Date.now());
  const answers = await Promise.all([ours.send(bytes), theirs.send(bytes)]);
  // On a busy machine one may have answered in the next second, which its resets show.
  const hasResets = second === secondOf(Date.now());
  const [a, b] = answers.map((answer) => textOf(answer, hasResets));
  return [a ?? '', b ?? ''];
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1_000);
}

function textOf(
  { code, message }: Awaited<ReturnType<RateLimitClient['send']>>,
  hasResets: boolean,
): string {
  if (message === undefined) return code === 0 ? 'nothing' : 'an error';
  return JSON.stringify(essence(message, hasResets));
}

function essence(
  { overall_code: code, statuses, response_headers_to_add: headers }: RateLimitResponse,
  hasResets: boolean,
) {
  return {
    code,
    statuses: statuses.map(
      ({
        code: each,
        current_limit: limit,
        limit_remaining: left,
        duration_until_reset: reset,
      }) => [
        each,
        limit === null ? 'none' : `${limit.requests_per_unit}/${limit.unit} ${limit.name}`,
        left,
        hasResets ? (reset?.seconds ?? 'none') : 'any',
      ],
    ),
    headers: headers
      .filter(({ key }) => hasResets || key !== 'RateLimit-Reset')
      .map(({ key, value }) => `${key}: ${value}`),
  };
}

if (values.binary === undefined) {
  console.error(`Name the program of envoyproxy/ratelimit with --binary. ${HOW_TO_GET}`);
  process.exitCode = 2;
} else {
  const differences = await compare(
    values.binary,
    Number(values.calls),
    new Random(Number(values.seed)),
  );
  process.exitCode = differences === 0 ? 0 : 1;
}
