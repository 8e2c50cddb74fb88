/**
 * Sends valid and broken requests in every order to the ports of a gateway, cuts connections at every byte, and exits with
 * 1 if the gateway crashes, hangs, counts a fault, or keeps connections or memory.
 *
 *     npm run fuzz -- grpc|http|ops [--seconds 60] [--seed 1] [--workers 2] [--tls] [--redis] [--save FOLDER]
 *
 * With `hpack`, it sends header blocks through the decoder, without a gateway:
 *
 *     npm run fuzz -- hpack [--seconds 60] [--seed 1] [--count 1000]
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Culprit, findCulprit } from './culprit.ts';
import { strictMistake } from './grpc/strict/strict-caller.ts';
import { grpcPlan } from './grpc/target.ts';
import { fuzzHpack } from './hpack/run.ts';
import { httpPlan } from './http/target.ts';
import { ADMIN_TOKEN, opsPlan } from './ops/target.ts';
import type { Plan } from './plan.ts';
import { type Beside, type MakePlan, memoryText, run } from './run.ts';

interface Target {
  readonly plan: MakePlan;
  readonly beside?: Beside;
}

const TARGETS: Readonly<Record<string, Target>> = {
  grpc: { plan: grpcPlan, beside: (random, { places }) => strictMistake(random, places.grpc) },
  http: { plan: httpPlan },
  ops: { plan: opsPlan },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    workers: { type: 'string', default: '1' },
    tls: { type: 'boolean', default: false },
    redis: { type: 'boolean', default: false },
    save: { type: 'string' },
    /** The most connections. */
    count: { type: 'string', default: String(2 ** 31 - 1) },
  },
});

async function fuzz(name: string, { plan, beside }: Target): Promise<boolean> {
  const [seed, seconds, workers] = [values.seed, values.seconds, values.workers].map(Number);
  if (!isCount(seed) || !isCount(seconds) || !isCount(workers)) {
    throw new Error('--seed, --seconds and --workers take a number');
  }
  const adminToken = seed % 2 === 0 ? ADMIN_TOKEN : undefined;
  // Workers share their counters in Redis.
  const redis = values.redis || workers > 1;
  const gateway = { workers, tls: values.tls, redis, adminToken };
  console.log(`${name}: seed ${seed}, ${seconds} s, ${JSON.stringify(gateway)}`);
  const startMs = performance.now();
  const took = () => `${((performance.now() - startMs) / 1_000).toFixed(1)} s`;
  const onProgress = (text: string) => console.log(`  ${took()}: ${text}`);
  const outcome = await run({ gateway, plan, beside, seed, seconds, onProgress });
  const { connections, besides, checks, problems, suspects, before, after, oddLines } = outcome;
  const others = `${besides} strict connections and ${checks} ordinary checks`;
  console.log(`  ${connections} connections, ${others} in ${took()}`);
  console.log(`  before: ${memoryText(before)}; after: ${memoryText(after)}`);
  if (oddLines.length > 0) console.log('  printed:', oddLines.join('\n    '));
  if (problems.length === 0) return true;
  console.log(`\n${problems.join('\n')}\n`);
  const culprit = await findCulprit(suspects, gateway);
  if (culprit === undefined) console.log(`None of ${suspects.length} connections does it alone.`);
  else report(name, seed, culprit);
  console.log('To repeat it, add', `--seed ${seed}`);
  return false;
}

function report(name: string, seed: number, { plan, crash }: Culprit): void {
  const { port, reads, handshakes, ending } = plan;
  console.log('One connection does it:', JSON.stringify({ port, reads, handshakes, ending }));
  for (const { label, bytes, pause } of plan.steps) {
    console.log(`  ${label}, then ${pause}: ${bytes.length} bytes`);
    console.log(`    ${bytes.subarray(0, 200).toString('hex')}${bytes.length > 200 ? '...' : ''}`);
  }
  console.log(crash);
  if (values.save === undefined) return;
  const file = join(values.save, `${name}-${seed}.json`);
  writeFileSync(file, JSON.stringify({ crash, ...inHex(plan) }, null, 1));
  console.log(`Written to ${file}`);
}

function inHex(plan: Plan) {
  return {
    ...plan,
    steps: plan.steps.map((step) => ({ ...step, bytes: step.bytes.toString('hex') })),
  };
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isInteger(value) && value >= 0;
}

// The gateway is ended with this process.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

async function fuzzBlocks(): Promise<boolean> {
  const [seed, seconds, count] = [values.seed, values.seconds, values.count].map(Number);
  if (!isCount(seed) || !isCount(seconds) || !isCount(count)) {
    throw new Error('--seed, --seconds and --count take a number');
  }
  return fuzzHpack({ seed, seconds, count });
}

const [name = ''] = positionals;
const target = TARGETS[name];
if (name === 'hpack') {
  if (!(await fuzzBlocks())) process.exitCode = 1;
} else if (target === undefined) {
  console.error(`Name one of ${[...Object.keys(TARGETS), 'hpack'].join(', ')}.`);
  process.exitCode = 2;
} else if (!(await fuzz(name, target))) process.exitCode = 1;
