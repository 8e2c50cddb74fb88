/**
 * Real proxies behind Cloudflare or a load balancer, with the files of `headgate init`: each client has its own limit,
 * and no client gets another address by a header.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { DEFAULT_ANSWERS } from '../../src/cli/proxy-files/setup/answers.ts';
import { nextSteps } from '../../src/cli/proxy-files/setup/next-steps.ts';
import { setupFiles } from '../../src/cli/proxy-files/setup/setup.ts';
import { userEnvironment } from '../support/package.ts';
import { isNeeded } from '../support/programs.ts';
import { patient } from '../support/proxies.ts';
import {
  AWAIT_GATEWAY,
  AWAIT_PROXY,
  canSeal,
  commandsIn,
  SEALED,
} from '../support/sealed-network.ts';
import { NODE } from '../support/tested-command.ts';

const run = promisify(execFile);
const programs = inject('programs');
const root = mkdtempSync(join(tmpdir(), 'headgate-addresses-'));
afterAll(() => rmSync(root, { recursive: true }));

/** Debian's Caddy is older than `trusted_proxies`. */
const PROXIES = [
  { proxy: 'nginx', program: 'nginx' },
  { proxy: 'envoy', program: 'envoy' },
  { proxy: 'envoy-grpc', program: 'envoy' },
  { proxy: 'caddy', program: 'caddy-newest' },
  { proxy: 'haproxy', program: 'haproxy' },
] as const;

const BALANCER = '10.1.0.9';
const CLOUDFLARE = '173.245.48.5';
const STRANGER = '198.51.100.66';

type Front = NonNullable<(typeof DEFAULT_ANSWERS)['front']>;

/** Starts everything in a network of its own, and returns the status of each login. */
async function logins(
  { proxy, program }: (typeof PROXIES)[number],
  front: Front,
  sent: readonly (readonly [from: string, header: string])[],
): Promise<string[]> {
  const folder = mkdtempSync(join(root, `${proxy}-`));
  const answers = { ...DEFAULT_ANSWERS, proxy, front };
  for (const { name, text } of setupFiles(answers))
    writeFileSync(join(folder, name), patient(text));
  const { serve, proxy: start } = nextSteps(answers);
  const path = commandsIn(join(folder, 'bin'), { [start.split(' ')[0] ?? '']: program });
  const script = `
    ip link set lo up
    for address in 10.9.0.1 ${BALANCER} ${CLOUDFLARE} ${STRANGER}; do ip address add $address/32 dev lo; done
    application &
    ${serve} > serve.log 2>&1 &
    ${AWAIT_GATEWAY}
    ${start.replace('/tmp/', `${folder}/`)} > proxy.log 2>&1 &
    ${AWAIT_PROXY}
    ${sent
      .map(
        ([from, header]) =>
          `curl -s -o /dev/null -w '%{http_code}\\n' --interface ${from} -H '${header}' -X POST http://10.9.0.1:8000/api/auth/login`,
      )
      .join('\n')}
    cat proxy.log >&2`;
  const [command = '', ...words] = [...SEALED, 'sh', '-c', script];
  const env = { ...userEnvironment(NODE), PATH: path };
  const { stdout, stderr } = await run(command, words, { cwd: folder, env });
  const codes = stdout.trim().split('\n');
  expect(codes, stderr + readFileSync(join(folder, 'serve.log'), 'utf8')).toHaveLength(sent.length);
  return codes;
}

const FIVE_AND_A_DENIAL = ['200', '200', '200', '200', '200', '429'];
const six = <T>(each: (i: number) => T): T[] => Array.from({ length: 6 }, (_, i) => each(i));

const proxies = PROXIES.filter(({ program }) => isNeeded(program));

describe.skipIf(!canSeal).each(proxies)('$proxy', (each) => {
  const isHere = programs[each.program] !== undefined;

  test.skipIf(!isHere)(
    'behind a load balancer, the address that it appends is the client',
    async () => {
      const front = { kind: 'load-balancer', networks: ['10.1.0.0/16'] } as const;
      const codes = await logins(each, front, [
        // What the client itself has sent comes first.
        ...six((i) => [BALANCER, `X-Forwarded-For: 192.0.2.${i}, 203.0.113.1`] as const),
        [BALANCER, 'X-Forwarded-For: 203.0.113.2'],
        ...six((i) => [STRANGER, `X-Forwarded-For: 192.0.2.${i}`] as const),
      ]);
      expect(codes.slice(0, 7)).toEqual([...FIVE_AND_A_DENIAL, '200']);
      // `headgate init` says that only the load balancer may connect to Envoy.
      if (each.proxy !== 'envoy') expect(codes.slice(7)).toEqual(FIVE_AND_A_DENIAL);
    },
  );

  test.skipIf(!isHere)(
    'behind Cloudflare, CF-Connecting-IP is the client, and from no one else',
    async () => {
      const codes = await logins(each, { kind: 'cloudflare' }, [
        ...six(() => [CLOUDFLARE, 'CF-Connecting-IP: 203.0.113.1'] as const),
        [CLOUDFLARE, 'CF-Connecting-IP: 203.0.113.2'],
        ...six((i) => [STRANGER, `CF-Connecting-IP: 192.0.2.${i}`] as const),
      ]);
      expect(codes).toEqual([...FIVE_AND_A_DENIAL, '200', ...FIVE_AND_A_DENIAL]);
    },
  );
});
