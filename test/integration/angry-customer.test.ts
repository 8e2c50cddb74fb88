/** A customer calls who is denied. Whatever the operator has of the customer, one command gives the true reason. */
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { type GatewayProcess, PATIENT } from '../support/gateway.ts';
import { startOperatedProcess, type Visitor, visit } from '../support/operations.ts';
import { ownRedisIsHere, startRedis } from '../support/redis.ts';
import { temporaryFolder } from '../support/temporary.ts';

const key = (id: string, more = '') =>
  `{ id: ${id}, sha256: ${hash('sha256', `key-of-${id}`)}${more} }`;
const POLICIES = `version: 1
identity:
  sources: [api_key, ip]
  trusted_proxies: [loopback, 10.0.0.0/24]
  api_key: { keys: [${key('acme', ', plan: pro')}, ${key('initech')}] }
block:
  # scrapers of May
  - 203.0.113.0/24
  - key: initech # unpaid
  - 2001:db8:bad::/48
exempt: [10.0.0.0/16] # the office
default: { limits: [3/1h], plans: { pro: [5/1h] } }
`;

const started = new AsyncDisposableStack();
const folder = temporaryFolder(started);
const policies = join(folder, 'policies.yaml');
afterAll(() => started.disposeAsync());

const MODES: readonly [string, NodeJS.ProcessEnv, boolean][] = [
  ['in memory', {}, false],
  ['with Redis', {}, true],
  ['with two workers', { HEADGATE_WORKERS: '2' }, true],
];

describe.each(MODES)('%s', (_mode, env, needsRedis) => {
  describe.skipIf(needsRedis && !ownRedisIsHere)('the operator', () => {
    let gateway: GatewayProcess;

    beforeAll(async () => {
      writeFileSync(policies, POLICIES);
      const redis = needsRedis ? started.use(await startRedis()) : undefined;
      gateway = started.use(
        await startOperatedProcess(policies, {
          ...PATIENT,
          ...env,
          ...(redis && { HEADGATE_REDIS_URL: redis.url }),
        }),
      );
    });

    async function headgate(...args: string[]): Promise<string> {
      const { port } = new URL(gateway.opsUrl);
      // On a busy machine, a worker may answer the other too late.
      const { stdout } = await eventually(
        () => runCommand(args, { env: { HEADGATE_OPS_PORT: port } }),
        (ran) => ran.code === 0 && !ran.stdout.includes('did not answer'),
      );
      return stdout;
    }

    /** Sends requests until one is denied. Resolves to the id in its body. */
    async function denied(visitor: Visitor): Promise<string> {
      const { body } = await eventually(
        () => visit(gateway, '/', visitor),
        ({ status }) => status !== 200,
      );
      return JSON.parse(body).decision_id;
    }

    const RANGE = `${policies}:8 blocks 203.0.113.0/24, "scrapers of May"`;
    const UNPAID = `${policies}:9 blocks key initech, "unpaid"`;

    test('who has an address that the file blocks learns the entry', async () => {
      const id = await denied({ address: '203.0.113.9' });
      for (const shown of [
        await headgate('clients', 'show', '203.0.113.9'),
        await headgate('clients', 'show', '::ffff:203.0.113.9'),
        await headgate('clients', 'show', id),
      ]) {
        expect(shown).toContain('now     blocked: every request is denied');
        expect(shown).toContain(`file    ${RANGE}\n`);
      }
      expect(await headgate('explain', id)).toContain(`cause     ${RANGE}\n`);
      const request = ['--url', '/', '--client', '203.0.113.9'];
      const explained = await headgate('explain', '--gateway', gateway.opsUrl, ...request);
      expect(explained).toContain(RANGE);
    });

    test('who has an IPv6 address in another spelling learns the entry', async () => {
      expect(await headgate('clients', 'show', '2001:0DB8:0BAD:0::00FF')).toContain(
        `file    ${policies}:10 blocks 2001:db8:bad::/48\n`,
      );
    });

    test('who has a key id learns the entry, or the limits of its plan', async () => {
      const id = await denied({ address: '198.51.100.4', key: 'key-of-initech' });
      expect(await headgate('clients', 'show', 'id:initech')).toContain(`file    ${UNPAID}\n`);
      expect(await headgate('explain', id)).toContain(`cause     ${UNPAID}\n`);
      await denied({ address: '198.51.100.5', key: 'key-of-acme' });
      const acme = await headgate('clients', 'show', 'id:acme');
      expect(acme).toMatch(
        /^client {2}id:acme \(plan pro\), c\..*\nnow {5}over the limit: default/,
      );
      expect(acme).toMatch(/default +5 requests per hour +0 /);
    });

    test('who has reset the counters of a client learns that its denial has ended', async () => {
      const address = '198.51.100.7';
      await denied({ address });
      const row = /^i\.\S+ +default +over_limit .*$/m;
      expect(await headgate('clients', 'show', address)).toMatch(row);
      await headgate('clients', 'reset', address, '--reason', 'a mistake');
      const shown = await headgate('clients', 'show', address);
      expect(shown).toContain('now     within its limits');
      expect(row.exec(shown)?.[0]).toMatch(/ ended /);
    });

    test('who has a client of an exempt range learns whether that has an effect', async () => {
      const office = `file    ${policies}:11 exempts 10.0.0.0/16, "the office"`;
      const exempt = await headgate('clients', 'show', '10.0.9.9');
      expect(exempt).toContain('now     exempt: every request passes');
      expect(exempt).toContain(`${office}\n`);
      const proxy = await headgate('clients', 'show', '10.0.0.9');
      expect(proxy).toContain('now     within its limits');
      expect(proxy).toContain(`${office}; no effect: many clients share the address`);
    });

    test('who has a client that the file and an operator block learns both', async () => {
      const address = '203.0.113.77';
      await headgate('clients', 'block', address, '--for', '10min', '--reason', 'spam');
      const cause = /^cause .* blocked the client, "spam"; .*policies.yaml:8 blocks/m;
      // Another worker may get the block a moment later, and deny by the file alone.
      const { id } = await eventually(
        async () => {
          const found = await denied({ address });
          return { id: found, text: await headgate('explain', found) };
        },
        ({ text }) => cause.test(text),
      );
      const shown = await headgate('clients', 'show', address);
      expect(shown).toContain(RANGE);
      expect(shown).toMatch(/^override {2}i\..*: blocked until .*"spam"$/m);
      await headgate('clients', 'unblock', address);
      expect(await headgate('explain', id)).toMatch(cause);
      expect(await headgate('clients', 'show', address)).toContain('now     blocked');
    });

    test('who has the id of a denial learns its key, also after 1,000 by another', async () => {
      const address = '198.51.100.6';
      // The limit of the address is twice as high for keys that are not listed.
      for (let i = 0; i < 12; i++) await visit(gateway, '/', { address, key: `invented-${i}` });
      const id = await denied({ address, key: 'mine' });
      const own = await headgate('explain', id);
      expect(own).toMatch(/^client .*, sent the unlisted key k\.[\w-]+$/m);
      for (let i = 0; i < 1_000; i++) await visit(gateway, '/', { address, key: 'other' });
      const line = (text: string, name: string) => new RegExp(`^${name} .*$`, 'm').exec(text)?.[0];
      const still = await headgate('explain', id);
      expect(line(still, 'client')).toBe(line(own, 'client'));
      expect(line(still, 'denied')).toBe(line(own, 'denied'));
      expect(line(still, 'later')).toMatch(/ \d+ more denials of this client by this policy/);
      const shown = await headgate('clients', 'show', address);
      expect(shown).toContain('over the limit: default');
      expect(shown).toContain('default:unverified');
    });
  });
});
