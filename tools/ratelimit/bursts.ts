/**
 * Shows what a burst around the end of a window gets: `node tools/ratelimit/bursts.ts [--binary PATH] [--unit minute]`
 *
 * A client with a limit of 5 calls per second (or minute) makes 5 calls just before the second ends and 5 just after.
 * headgate counts them twice, with its own windows and with those of envoyproxy/ratelimit. `--binary` adds
 * envoyproxy/ratelimit itself, by the path of its program. Needs `redis-server`. Exits with 1 if headgate's own windows
 * let more than 5 through.
 */
import { parseArgs } from 'node:util';
import { createLab } from '../../bench/support/lab.ts';
import { startEnvoyRatelimit } from '../../bench/support/peers.ts';
import { connectRateLimit } from '../../test/support/rate-limits.ts';
import { printTable } from '../table.ts';
import { type BurstUnit, burstAround, burstRules, LIMIT, WINDOWS_MS } from './burst.ts';

const POLICIES = '{ version: 1, default: { limits: [1/1s] } }';

const { binary, unit: name } = parseArgs({
  options: { binary: { type: 'string' }, unit: { type: 'string', default: 'second' } },
}).values;
if (!Object.hasOwn(WINDOWS_MS, name)) throw new Error('--unit must be second or minute');
const unit = name as BurstUnit;

await using lab = createLab();
const files = { 'bursts.yaml': burstRules(unit) };
const rules = lab.folder(files);

async function headgate(windows: 'sliding' | 'aligned') {
  const { url } = await lab.redis();
  const settings = { HEADGATE_RATELIMIT_CONFIG: rules, HEADGATE_RATELIMIT_WINDOWS: windows };
  return lab.gateway(POLICIES, url(), settings);
}

async function rival(program: string) {
  return startEnvoyRatelimit(lab, await lab.redis(), { program, files });
}

const OWN = 'headgate';
const services = [
  { name: OWN, server: await headgate('sliding') },
  { name: 'headgate, HEADGATE_RATELIMIT_WINDOWS=aligned', server: await headgate('aligned') },
  ...(binary === undefined ? [] : [{ name: 'envoyproxy/ratelimit', server: await rival(binary) }]),
];

console.log(
  `${LIMIT} calls per ${unit} are allowed. ${LIMIT} come just before a ${unit} of the clock ends, ${LIMIT} just after.\n`,
);
const bursts = await Promise.all(
  services.map(async ({ name, server }) => {
    using client = connectRateLimit(server.grpcPort);
    return { name, ...(await burstAround(client, unit)) };
  }),
);
printTable(
  bursts.map(({ name, before, after, tookMs }) => ({
    service: name,
    'let through before': String(before),
    after: String(after),
    'in all': String(before + after),
    'within ms': String(tookMs),
  })),
);
const tooMany = bursts.find((each) => each.name === OWN && each.before + each.after > LIMIT);
if (tooMany !== undefined) {
  console.error(`\n${OWN} let more than ${LIMIT} calls through.`);
  process.exitCode = 1;
}
