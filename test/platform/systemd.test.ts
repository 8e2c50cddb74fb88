/** docs/vm.md and deploy/systemd: the commands of the page as written, in a booted systemd with NGINX, up to a denial. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { type InstalledPackage, installPackage } from '../support/package.ts';
import { IN_DOCKER } from '../support/programs.ts';
import { type BootedSystemd, bootSystemd, canBootSystemd } from './support/booted-systemd.ts';

const UNIT = fileURLToPath(new URL('../../deploy/systemd/headgate.service', import.meta.url));
const ENVIRONMENT = new URL('../../deploy/systemd/headgate.env', import.meta.url);
const { nginx, 'systemd-analyze': hasSystemd, 'redis-server': redis } = inject('programs');
const PAGE = readFileSync(new URL('../../docs/vm.md', import.meta.url), 'utf8');

const hasOwnRedis = redis !== undefined && redis !== IN_DOCKER;

/** What carries the name of headgate. The machine may have some of it, such as a clone. */
const TRACES =
  'find /etc /run /var/lib /usr/local -name "*headgate*" | sort; getent passwd headgate || true';

/** The blocks of a language below a heading of the second level, in their order. */
function blocks(heading: string, language: string): string[] {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const found = [...section.matchAll(/^( *)```(\w+)\n([\s\S]*?)\n *```$/gm)];
  return found
    .filter(([, , name]) => name === language)
    .map(([, indent = '', , text = '']) =>
      text.replaceAll(`\n${indent}`, '\n').slice(indent.length),
    );
}

describe('the example of the settings', () => {
  const lines = readFileSync(ENVIRONMENT, 'utf8').split('\n');
  const settings = (chosen: readonly string[]) =>
    Object.fromEntries(chosen.map((line) => line.split(/=(.*)/s).slice(0, 2)));

  test('has valid settings, also with what is commented out', () => {
    const set = lines.filter((line) => /^HEADGATE_/.test(line));
    expect(readEnvironment(settings(set))).toMatchObject({
      socket: '/run/headgate/headgate.sock',
      grpcPort: undefined,
      opsHost: '127.0.0.1',
      drainMs: 0,
    });
    const optional = lines.filter((line) => /^#HEADGATE_/.test(line)).map((line) => line.slice(1));
    const given = optional.map((line) => (line.endsWith('=') ? `${line}${'x'.repeat(32)}` : line));
    expect(given).toHaveLength(4);
    const all = readEnvironment(settings([...set, ...given]));
    expect(all.redis?.addresses).toEqual([{ host: 'redis.example.com', port: 6379 }]);
  });
});

describe.skipIf(!hasSystemd)('the unit', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-unit-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('has few rights: systemd-analyze security calls it OK', () => {
    const args = ['security', '--offline=yes', '--no-pager', '--threshold=15', UNIT];
    const report = execFileSync('systemd-analyze', args, { encoding: 'utf8' });
    expect(report).toMatch(/Overall exposure level for headgate\.service: 1\.\d OK/);
  });

  test('systemd-analyze verify finds no mistake, and would find one', () => {
    const verify = (change: (text: string) => string) => {
      const file = join(folder, 'headgate.service');
      // Nothing is installed here.
      const text = readFileSync(UNIT, 'utf8').replaceAll(
        '/opt/headgate/node_modules/.bin/headgate',
        '/bin/true',
      );
      writeFileSync(file, change(text));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], {
        encoding: 'utf8',
      });
      return { status, stderr };
    };
    expect(verify((text) => text)).toEqual({ status: 0, stderr: '' });
    expect(verify((text) => text.replace('Restart=always', 'Restart=ever')).stderr).toContain(
      'ever',
    );
  });
});

describe.skipIf(!hasSystemd || !canBootSystemd || nginx === undefined)('docs/vm.md', () => {
  let installed: InstalledPackage;
  let machine: BootedSystemd;
  let before: string;
  beforeAll(async () => {
    installed = await installPackage();
    // What the page takes for granted: Node, the command, and a site with an application.
    machine = await bootSystemd({
      '/opt/headgate': installed.folder,
      '/usr/local/bin/node': process.execPath,
      ...(hasOwnRedis && { '/usr/local/bin/redis-server': redis }),
    });
    before = await works(TRACES);
    await works(`
      ln -s /opt/headgate/node_modules/.bin/headgate /usr/local/bin/headgate
      systemd-run --quiet --unit=application node -e '
        require("node:http").createServer((_, answer) => answer.end("the application")).listen(3000)'
      rm -f /etc/nginx/sites-enabled/*
    `);
  }, 300_000);
  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
    installed?.remove();
  });

  async function works(script: string): Promise<string> {
    const { code, stdout, stderr } = await machine.run(script);
    if (code !== 0) throw new Error(`${script}\nended with ${code}:\n${stdout}${stderr}`);
    return stdout;
  }

  test('Install: the service starts', async () => {
    for (const block of blocks('Install', 'sh')) await works(block);
    expect(await works('systemctl is-enabled headgate; systemctl is-active headgate')).toBe(
      'enabled\nactive\n',
    );
    const files = 'stat -c "%A %U %G" /etc/headgate/* /run/headgate /run/headgate/headgate.sock';
    expect(await works(files)).toBe(
      '-rw------- root root\n-rw-r----- root headgate\n' +
        'drwxr-x--- headgate headgate\nsrw-rw---- headgate headgate\n',
    );
  });

  test('NGINX: the sixth login is denied, over the socket', async () => {
    const [site = ''] = blocks('NGINX', 'nginx');
    await works(`cat > /etc/nginx/sites-enabled/shop <<'END'\n${site}\nEND`);
    const commands = blocks('NGINX', 'sh');
    expect(commands).toHaveLength(3);
    const [write = '', restart = '', attempt = ''] = commands;
    await works(write);
    // On a busy machine headgate may answer late; then NGINX would let a request pass.
    await works(`sed -Ei 's/(_timeout) +[0-9]+ms/\\1 10s/' /etc/nginx/headgate/server.conf`);
    await works(restart);
    const [shown] = blocks('NGINX', 'text');
    expect(await works(attempt)).toBe(`${shown}\n`);
    expect(shown?.split('\n').at(-1)).toBe('429');
    const headers = await works('curl --silent --head http://127.0.0.1/elsewhere');
    expect(headers).toMatch(/^X-RateLimit-Limit: 1000\r$/m);
  });

  test('Change limits: a reload applies them, and fails if the file has a mistake', async () => {
    const [reload = ''] = blocks('Change limits', 'sh');
    const limit = "curl --silent --head http://127.0.0.1/ | grep -i '^x-ratelimit-limit'";
    await works(`sed -i s,1000/1h,2000/1h, /etc/headgate/policies.yaml; ${reload}`);
    await works(`until ${limit} | grep 2000; do :; done`);
    await works('echo "mistake" >> /etc/headgate/policies.yaml');
    expect((await machine.run(reload)).code).not.toBe(0);
    expect(await works(blocks('Logs', 'sh').join('\n'))).toContain(
      'policies.yaml:12:1: error invalid-yaml',
    );
    expect(await works(limit)).toContain('2000');
    // Nor does it start with the mistake.
    expect((await machine.run('systemctl restart headgate')).code).not.toBe(0);
    expect((await machine.run('systemctl is-failed headgate')).stdout).toBe('failed\n');
    await works(`sed -i '$ d' /etc/headgate/policies.yaml; systemctl start headgate`);
  });

  test('Metrics and operations: the ops server answers on loopback', async () => {
    await works(blocks('Metrics and operations', 'sh').join('\n'));
    expect(await works('curl --silent http://127.0.0.1:9464/metrics')).toMatch(
      /^process_open_fds [1-9]/m,
    );
  });

  test('a mistake in the settings stops the service, and the journal names the setting', async () => {
    await works('echo HEADGATE_DRAIN_MS=soon >> /etc/headgate/headgate.env');
    expect((await machine.run('systemctl restart headgate')).code).not.toBe(0);
    expect((await machine.run('systemctl is-failed headgate')).stdout).toBe('failed\n');
    expect(await works('journalctl --unit headgate --output cat --no-pager')).toMatch(
      /HEADGATE_DRAIN_MS: must be milliseconds/,
    );
    await works(`sed -i '$ d' /etc/headgate/headgate.env; systemctl start headgate`);
  });

  test('its sandbox refuses what headgate does not need', async () => {
    const pid = (await works('systemctl show --property MainPID --value headgate')).trim();
    const status = await works(`cat /proc/${pid}/status`);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^Seccomp:\t2$/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    const inside = (command: string) =>
      machine.run(`nsenter -t ${pid} -m -U --preserve-credentials ${command}`);
    expect((await inside('touch /etc/headgate/new')).stderr).toContain('Read-only file system');
    await works('touch /root/private');
    expect((await inside('cat /root/private')).stderr).toContain('No such file or directory');
  });

  test.skipIf(!hasOwnRedis)(
    'the sandbox lets several workers count in a Redis that has a name',
    async () => {
      await works(`
        systemd-run --quiet --unit=test-redis redis-server --port 6379 --save ''
        cp /etc/headgate/headgate.env /root/headgate.env
        echo HEADGATE_REDIS_URL=redis://localhost:6379 >> /etc/headgate/headgate.env
        echo HEADGATE_WORKERS=2 >> /etc/headgate/headgate.env
        systemctl restart headgate`);
      const limited = 'curl --silent --head http://127.0.0.1/ | grep -i ^x-ratelimit-limit';
      expect(await works(limited)).toMatch(/: 2000\r\n$/);
      const keys = "exec 3<> /dev/tcp/127.0.0.1/6379; printf 'KEYS *\\r\\nQUIT\\r\\n' >&3; cat <&3";
      expect(await works(keys)).toContain(':default:');
      await works('cp /root/headgate.env /etc/headgate/headgate.env; systemctl restart headgate');
    },
  );

  test('Uninstall: nothing of headgate is left', async () => {
    await works("sed -i '/include headgate/d' /etc/nginx/sites-enabled/shop");
    // The test has mounted it.
    const script = blocks('Uninstall', 'sh').join('\n').replace(' /opt/headgate ', ' ');
    await works(script);
    expect(await works('curl --silent http://127.0.0.1/')).toBe('the application');
    expect(await works(TRACES)).toBe(before);
  });
});
