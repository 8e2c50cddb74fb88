/** `headgate init` in a real terminal: from the questions to a 429 by the real proxy, with the written files. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { startGateway } from '../support/gateway.ts';
import { call, statuses } from '../support/http.ts';
import { userEnvironment } from '../support/package.ts';
import type { ProgramName } from '../support/programs.ts';
import { patient } from '../support/proxies.ts';
import {
  AWAIT_GATEWAY,
  AWAIT_PROXY,
  canSeal,
  commandsIn,
  SEALED,
} from '../support/sealed-network.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { NODE } from '../support/tested-command.ts';
import { startTraefikOrReplay } from '../support/traefik.ts';
import { startUpstream } from '../support/upstream.ts';
import { openTerminal, type TestTerminal } from './support/tmux.ts';

/** The command of this clone, as init prints it in another folder. */
const HEADGATE = fileURLToPath(new URL('../../bin/headgate.cjs', import.meta.url));

const programs = inject('programs');
const { tmux } = programs;

const started = new AsyncDisposableStack();
const root = temporaryFolder(started);
afterAll(() => started.disposeAsync());

const BINARIES: Readonly<Record<string, ProgramName>> = {
  nginx: 'nginx',
  envoy: 'envoy',
  caddy: 'caddy',
  haproxy: 'haproxy',
};
const path = commandsIn(join(root, 'bin'), BINARIES);

/** A folder of its own. */
function newFolder(): string {
  return mkdtempSync(join(root, 'site-'));
}

/** A terminal in a folder. */
function terminalIn(folder: string): Promise<TestTerminal> {
  const env = { ...userEnvironment(NODE), PATH: path, LC_ALL: 'C.UTF-8', PS1: '$ ', PWD: folder };
  return openTerminal(tmux ?? '', { columns: 180, rows: 50, env, cwd: folder });
}

const QUESTIONS = {
  proxy: /^Which proxy stands in front of your application\?/,
  existing: /^Does it have a configuration already/,
  application: /^Where does your application listen\?/,
  login: /^Which path do clients log in at\?/,
  front: /^What do clients connect to before this proxy\?/,
  networks: /^Addresses of the load balancer/,
  keys: /^Do clients send API keys/,
  redis: /^Redis, if several gateways share their counters/,
  extras: /^Write a file to run it, too/,
} as const;

/** Waits for each question and types its answer. Empty: the default. */
async function answer(
  terminal: TestTerminal,
  answers: Readonly<Partial<Record<keyof typeof QUESTIONS, string>>>,
): Promise<void> {
  for (const [question, typed] of Object.entries(answers)) {
    await terminal.shows(QUESTIONS[question as keyof typeof QUESTIONS]);
    await terminal.enter(typed);
  }
}

const existingSite = (folder: string) => `daemon off;
pid "${folder}/pid";
events {}
http {
  #http
  server {
    listen 127.0.0.1:8000;
    #server
    location / {
      #location
      proxy_pass http://127.0.0.1:3000;
    }
  }
}
`;

const DEFAULTS = {
  existing: '',
  application: '',
  login: '',
  front: '',
  keys: '',
  redis: '',
  extras: '',
};

/** The commands that `init` has printed. */
async function printedCommands(terminal: TestTerminal) {
  const lines = await terminal.shows(/^ended with 0$/);
  const after = (heading: RegExp) => {
    const at = lines.findLastIndex((line) => heading.test(line));
    return lines[at + 1]?.trim() ?? '';
  };
  return {
    serve: after(/^Start the gateway/),
    proxy: after(/^Start (NGINX|the proxy)/),
    curl: after(/^Send six logins/),
  };
}

describe.skipIf(tmux === undefined)('in a terminal', () => {
  describe.skipIf(!canSeal).each([
    { proxy: 'nginx', program: 'nginx', files: ['nginx.conf'] },
    { proxy: 'envoy', program: 'envoy', files: ['envoy.yaml'] },
    { proxy: 'envoy-grpc', program: 'envoy', files: ['envoy-grpc.yaml'] },
    { proxy: 'caddy', program: 'caddy', files: ['Caddyfile'] },
    { proxy: 'haproxy', program: 'haproxy', files: ['haproxy.cfg', 'headgate.lua'] },
  ] as const)('$proxy', ({ proxy, program, files }) => {
    test.skipIf(programs[program] === undefined)(
      'the printed commands lead from the questions to a 429',
      async () => {
        const folder = newFolder();
        await using terminal = await terminalIn(folder);
        await terminal.enter(`exec ${SEALED.join(' ')} sh`);
        await terminal.enter(
          'ip link set lo up; application & clear; headgate init; echo ended with $?',
        );
        await answer(terminal, { proxy: proxy === 'nginx' ? '' : proxy, ...DEFAULTS });
        const commands = await printedCommands(terminal);
        expect(readdirSync(folder).sort()).toEqual(
          ['policies.yaml', 'policies_test.yaml', ...files].sort(),
        );
        // On a busy machine a check may take longer than the proxy waits.
        const file = join(folder, files[0]);
        writeFileSync(file, patient(readFileSync(file, 'utf8')));

        await terminal.enter(`${commands.serve} > serve.log 2>&1 & ${AWAIT_GATEWAY}; echo ready`);
        await terminal.shows(/^ready$/);
        // In /tmp another user may have the file.
        const start = commands.proxy.replace('/tmp/', `${folder}/`);
        await terminal.enter(`${start} > proxy.log 2>&1 & ${AWAIT_PROXY}; echo accepting`);
        await terminal.shows(/^accepting$/).catch(async (error: Error) => {
          // Shows whether the proxy, the gateway or the application does not answer.
          const places = [8000, 9464, 3000].map((port) => `http://127.0.0.1:${port}/`).join(' ');
          await terminal.press('C-c');
          await terminal.enterOnClearScreen(`curl -sSi --max-time 5 ${places}; echo asked`);
          const answers = (await terminal.shows(/^asked$/)).join('\n');
          const log = readFileSync(join(folder, 'proxy.log'), 'utf8');
          throw new Error(`${error.message}\n${answers}\n${log}`);
        });
        await terminal.enterOnClearScreen(`${commands.curl}; echo done`);
        const lines = await terminal.shows(/^done$/);
        const codes = lines.filter((line) => /^\d{3}$/.test(line));
        expect(codes, readFileSync(join(folder, 'proxy.log'), 'utf8')).toEqual([
          ...['200', '200', '200', '200', '200', '429'],
        ]);

        const tests = await runCommand(['test', '--coverage', '--min-coverage', '100', folder]);
        expect(tests.stdout + tests.stderr).toMatch(/100 ?%/);
        expect(tests.code).toBe(0);
        const check = await runCommand(['check', '--strict', join(folder, 'policies.yaml')]);
        expect(check).toMatchObject({ code: 0 });
      },
    );
  });

  test.skipIf(!canSeal || programs.nginx === undefined)(
    'an existing NGINX is not overwritten, and the printed lines lead to a 429',
    async () => {
      const folder = newFolder();
      const site = existingSite(folder);
      writeFileSync(join(folder, 'nginx.conf'), site);
      await using terminal = await terminalIn(folder);
      await terminal.enter(`exec ${SEALED.join(' ')} sh`);
      await terminal.enter('ip link set lo up; application & clear; headgate init');
      const { application: _, ...asked } = DEFAULTS;
      await answer(terminal, { proxy: '', ...asked, login: '/account/login' });
      const lines = await terminal.shows(/ doctor --policies .* --through/);
      // No file names the application.
      expect(lines.some((line) => QUESTIONS.application.test(line))).toBe(false);
      expect(lines).toContain(
        'POST /account/login gets 5 requests in 5 minutes from each client: policy login in policies.yaml.',
      );
      expect(readFileSync(join(folder, 'nginx.conf'), 'utf8')).toBe(site);
      const included = lines.flatMap((line) => /^ {2}(include \S+;) +in /.exec(line)?.[1] ?? []);
      expect(included).toHaveLength(3);
      const [http = '', server = '', location = ''] = included;
      writeFileSync(
        join(folder, 'nginx.conf'),
        patient(
          site.replace('#http', http).replace('#server', server).replace('#location', location),
        ),
      );
      await terminal.enterOnClearScreen(
        `headgate serve --policies policies.yaml > serve.log 2>&1 & ${AWAIT_GATEWAY}; echo ready`,
      );
      await terminal.shows(/^ready$/);
      await terminal.enter(
        `nginx -c "$PWD/nginx.conf" > proxy.log 2>&1 & ${AWAIT_PROXY}; echo accepting`,
      );
      await terminal.shows(/^accepting$/).catch((error: Error) => {
        throw new Error(`${error.message}\n${readFileSync(join(folder, 'proxy.log'), 'utf8')}`);
      });
      await terminal.enterOnClearScreen(
        "for i in 1 2 3 4 5 6; do curl -s -o /dev/null -w '%{http_code}\\n' -X POST http://127.0.0.1:8000//account/%6cogin; done; echo done",
      );
      const codes = (await terminal.shows(/^done$/)).filter((line) => /^\d{3}$/.test(line));
      expect(codes).toEqual([...Array(5).fill('200'), '429']);
    },
  );

  test('traefik: the written files lead to a 429', async () => {
    const folder = newFolder();
    await using terminal = await terminalIn(folder);
    await terminal.enter('headgate init; echo ended with $?');
    await answer(terminal, { proxy: 'traefik', ...DEFAULTS });
    expect((await printedCommands(terminal)).proxy).toBe('traefik --configFile=traefik.yaml');
    const written = (name: string) => readFileSync(join(folder, name), 'utf8');
    const shipped = new URL('../../deploy/traefik/traefik.yaml', import.meta.url);
    const head = /^(#.*\n)*/;
    expect(written('traefik.yaml').replace(head, '')).toBe(
      readFileSync(shipped, 'utf8').replace(head, ''),
    );
    await using gateway = await startGateway({
      HEADGATE_POLICIES: join(folder, 'policies.yaml'),
    });
    await using upstream = await startUpstream();
    await using traefik = await startTraefikOrReplay({
      application: upstream.port,
      headgate: gateway.port,
      text: written('dynamic.yaml'),
    });
    const login = () => call(traefik.url, '/api/auth/login', { method: 'POST' });
    expect(await statuses(6, login)).toEqual([200, 200, 200, 200, 200, 429]);
  });

  describe('one after the other', () => {
    let terminal: TestTerminal;
    const folder = newFolder();
    beforeAll(async () => {
      terminal = started.use(await terminalIn(folder));
    });

    test('wrong answers are asked for again, with the reason', async () => {
      await terminal.enterOnClearScreen('headgate init wrong; echo ended with $?');
      await answer(terminal, { proxy: 'apache' });
      await terminal.shows(/^ {2}Type one of nginx, envoy, envoy-grpc, caddy, haproxy, traefik\.$/);
      await terminal.enter('haproxy');
      await answer(terminal, { existing: '', application: 'localhost' });
      await terminal.shows(/^ {2}It must be a host and a port, such as 10\.0\.0\.2:8080/);
      await terminal.enter('localhost:8080');
      await answer(terminal, { login: 'account' });
      await terminal.shows(/^ {2}It must be a path such as \/account\/login/);
      await terminal.enter('/account/login');
      await answer(terminal, { front: 'load-balancer', networks: '' });
      await terminal.shows(/^ {2}name CIDR ranges, such as 10\.1\.0\.0\/16/);
      await terminal.enter('0.0.0.0/0');
      await terminal.shows(/^ {2}"0\.0\.0\.0\/0" contains every address/);
      await terminal.enter('11.0.0.0/8');
      await terminal.shows(/^ {2}11\.0\.0\.0\/8 contains addresses of many operators/);
      await terminal.enter('10.1.0.0/16, 2001:db8:1::/48');
      await answer(terminal, { keys: 'perhaps' });
      await terminal.shows(/^ {2}Type yes or no\.$/);
      await terminal.enter('YES');
      await answer(terminal, { redis: 'localhost:6379' });
      await terminal.shows(/^ {2}must be a URL such as redis:\/\//);
      await terminal.enter('redis://127.0.0.1:6379');
      await answer(terminal, { extras: 'docker' });
      await terminal.shows(/^ {2}Type one of compose, systemd\.$/);
      await terminal.enter('both');
      const lines = await terminal.shows(/^ended with 0$/);
      expect(lines).toContain(
        `  HEADGATE_PORT=8180 HEADGATE_GRPC_PORT=off HEADGATE_REDIS_URL=redis://127.0.0.1:6379 ${HEADGATE} serve --policies policies.yaml`,
      );
      const files = readdirSync(join(folder, 'wrong')).sort();
      expect(files).toEqual(
        [
          'compose.yaml',
          'haproxy.cfg',
          'headgate.lua',
          'headgate.service',
          'policies.yaml',
          'policies_test.yaml',
        ].sort(),
      );
      const haproxy = readFileSync(join(folder, 'wrong', 'haproxy.cfg'), 'utf8');
      expect(haproxy).toContain('server headgate 127.0.0.1:8180');
      expect(haproxy).toContain('server application localhost:8080');
      expect(haproxy).toMatch(
        /^ {2}http-request set-src .* if \{ src 10\.1\.0\.0\/16 2001:db8:1::\/48 \}$/m,
      );
    });

    test('nothing is overwritten without being asked', async () => {
      const site = join(folder, 'kept');
      mkdirSync(site);
      writeFileSync(join(site, 'policies.yaml'), 'mine\n');
      const run =
        'headgate init kept --proxy caddy --no-existing --login /login --application 127.0.0.1:3000 --behind none --no-keys --no-redis --with compose; echo ended with $?';
      await terminal.enterOnClearScreen(run);
      await terminal.shows(/^policies\.yaml exists already\. Overwrite it\? \[no\]/);
      await terminal.enter('');
      await terminal.shows(/^headgate: nothing was written$/);
      await terminal.shows(/^ended with 1$/);
      expect(readdirSync(site)).toEqual(['policies.yaml']);
      expect(readFileSync(join(site, 'policies.yaml'), 'utf8')).toBe('mine\n');

      await terminal.enterOnClearScreen(run);
      await terminal.shows(/Overwrite it\? \[no\]/);
      await terminal.enter('yes');
      await terminal.shows(/^ended with 0$/);
      expect(readFileSync(join(site, 'policies.yaml'), 'utf8')).toContain('version: 1');
      // The same files again are no reason to ask.
      await terminal.enterOnClearScreen(run);
      await terminal.shows(/^ended with 0$/);
    });

    test.each(['C-c', 'C-d'])('%s writes nothing', async (key) => {
      await terminal.enterOnClearScreen('headgate init gone; echo ended with $?');
      await answer(terminal, { proxy: '', existing: '', application: '', login: '' });
      await terminal.shows(QUESTIONS.front);
      await terminal.press(key);
      const lines = await terminal.shows(/^ended with 130$/);
      expect(lines).toContain('headgate: nothing was written');
      expect(existsSync(join(folder, 'gone'))).toBe(false);
    });
  });
});

describe('without a terminal', () => {
  const YES = ['--yes'];

  test('without --yes, says what to do', async () => {
    const cwd = newFolder();
    const { code, stderr } = await runCommand(['init'], { cwd, input: '' });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: there is no terminal to ask on: say --yes/);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('refuses to overwrite, unless told to', async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, 'nginx.conf'), 'mine\n');
    const whole = [...YES, '--no-existing'];
    const refused = await runCommand(['init', ...whole], { cwd });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(
      /^headgate: nginx\.conf in .*: exists already; nothing was written\. .* --force/,
    );
    expect(readdirSync(cwd)).toEqual(['nginx.conf']);
    expect(readFileSync(join(cwd, 'nginx.conf'), 'utf8')).toBe('mine\n');
    expect((await runCommand(['init', ...whole, '--force'], { cwd })).code).toBe(0);
    expect(readFileSync(join(cwd, 'nginx.conf'), 'utf8')).toContain('auth_request');
  });

  test('--yes adds to a configuration that exists, as the question does by default', async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, 'nginx.conf'), 'mine\n');
    for (let times = 0; times < 2; times++) {
      expect(await runCommand(['init', ...YES], { cwd })).toMatchObject({ code: 0 });
      expect(readFileSync(join(cwd, 'nginx.conf'), 'utf8')).toBe('mine\n');
      expect(readdirSync(cwd).sort()).toEqual([
        ...['headgate-http.conf', 'headgate-location.conf', 'headgate-server.conf'],
        ...['nginx.conf', 'policies.yaml', 'policies_test.yaml'],
      ]);
    }
    // A file that init has written is not one to add to.
    const own = newFolder();
    for (let times = 0; times < 2; times++) {
      expect(await runCommand(['init', ...YES], { cwd: own })).toMatchObject({ code: 0 });
      expect(readdirSync(own).sort()).toEqual([
        'nginx.conf',
        'policies.yaml',
        'policies_test.yaml',
      ]);
    }
    const mistaken = await runCommand(['init', ...YES, '--login', '/account'], { cwd });
    expect(mistaken.stderr).toContain('Name another folder, or add --force to overwrite.');
  });

  test.each([
    { file: 'Caddyfile', proxy: 'caddy' },
    { file: 'envoy.yaml', proxy: 'envoy' },
    { file: 'haproxy.cfg', proxy: 'haproxy' },
    { file: 'traefik.yml', proxy: 'traefik' },
  ])('$file in the folder means $proxy', async ({ file, proxy }) => {
    const cwd = newFolder();
    writeFileSync(join(cwd, file), 'mine\n');
    const { code, stdout } = await runCommand(['init', ...YES], { cwd });
    expect(code).toBe(0);
    expect(readFileSync(join(cwd, file), 'utf8')).toBe('mine\n');
    const page = / {2}(\/.*\/quickstart\/.*\.md)$/m.exec(stdout)?.[1] ?? '';
    expect(page).toMatch(new RegExp(`/${proxy}\\.md$`));
    expect(existsSync(page)).toBe(true);
    expect(stdout).toMatch(/ doctor --policies policies\.yaml --proxy-file \S+$/m);
  });

  test.each([[], ['--keys'], ['--behind', 'cloudflare']])(
    'without logins, each client has one limit, and the written tests show it: %s',
    async (...args) => {
      const cwd = newFolder();
      const { code, stdout } = await runCommand(['init', ...YES, '--no-login', ...args], { cwd });
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.not.stringMatching(/login|Log/) });
      expect(stdout).toContain('curl -i http://127.0.0.1:8000/\n');
      const check = await runCommand(['check', '--strict', 'policies.yaml'], { cwd });
      expect(check).toMatchObject({ code: 0 });
      const tests = await runCommand(['test', '--coverage', '--min-coverage', '100', cwd]);
      expect(tests).toMatchObject({ code: 0 });
    },
  );

  test('the files name the ports of the settings', async () => {
    const cwd = newFolder();
    const env = { HEADGATE_PORT: '21080', HEADGATE_OPS_PORT: '21464' };
    const { code, stdout } = await runCommand(['init', ...YES], { cwd, env });
    expect(code).toBe(0);
    expect(readFileSync(join(cwd, 'nginx.conf'), 'utf8')).toContain('server 127.0.0.1:21080 ');
    expect(stdout).toContain('HEADGATE_PORT=21080 HEADGATE_GRPC_PORT=off HEADGATE_OPS_PORT=21464 ');
  });

  test('invented keys get no more than no key, and the written tests show it', async () => {
    const cwd = newFolder();
    expect((await runCommand(['init', ...YES, '--keys'], { cwd })).code).toBe(0);
    expect(readFileSync(join(cwd, 'policies.yaml'), 'utf8')).toContain('unverified_factor: 1');
    const tests = await runCommand(['test', '--coverage', '--min-coverage', '100', cwd]);
    expect(tests).toMatchObject({ code: 0 });
    expect(tests.stdout).toContain('invented keys get no more than no key');
  });

  test.each([
    { args: ['--behind', 'load-balancer'], says: 'needs its addresses' },
    { args: ['--behind', 'cloudflare', '--load-balancer', '10.0.0.0/8'], says: 'does not fit' },
    { args: ['--load-balancer', 'private'], says: 'name CIDR ranges' },
    { args: ['--application', '3000'], says: 'must be a host and a port' },
    { args: ['--proxy', 'caddy', '--own-port', '8080'], says: 'choose another --own-port' },
    { args: ['--proxy', 'nginx', '--own-port', '8091'], says: 'needs no --own-port' },
    { args: ['--proxy', 'caddy', '--own-port', '0'], says: 'whole number from 1 to 65535' },
    { args: ['--redis', '127.0.0.1'], says: 'must be a URL such as redis://' },
    { args: ['--with', 'docker'], says: 'must be compose or systemd' },
    { args: ['--proxy', 'apache'], says: 'Allowed choices are nginx' },
  ])('refuses $args', async ({ args, says }) => {
    const cwd = newFolder();
    const { code, stderr } = await runCommand(['init', ...YES, ...args], { cwd });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(says) });
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('a folder that cannot be written names its reason, and nothing is left', async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, 'file'), '');
    const { code, stderr } = await runCommand(['init', 'file/below', ...YES], { cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^headgate: file\/below.*: cannot be written: its folder is a file\n$/);
    mkdirSync(join(cwd, 'site', 'policies_test.yaml'), { recursive: true });
    const second = await runCommand(['init', 'site', ...YES, '--force'], { cwd });
    expect(second.code).toBe(1);
    expect(readdirSync(join(cwd, 'site'))).not.toContainEqual(expect.stringMatching(/\.new$/));
  });

  test('a password of Redis is written and printed nowhere', async () => {
    const cwd = newFolder();
    const args = [
      '--redis',
      'redis://user:hunter2@10.0.0.9:6379',
      '--with',
      'compose',
      '--with',
      'systemd',
    ];
    const { code, stdout } = await runCommand(['init', ...YES, ...args], { cwd });
    expect(code).toBe(0);
    expect(stdout).toContain('with HEADGATE_REDIS_URL set to the URL of your Redis');
    const texts = readdirSync(cwd).map((name) => readFileSync(join(cwd, name), 'utf8'));
    for (const text of [stdout, ...texts]) expect(text).not.toContain('hunter2');
  });
});
