/** What headgate doctor finds in Caddyfiles. */
import { describe, expect, test } from 'vitest';
import { examineProxyFile } from '../../../../../src/cli/proxy-files/read/examine-files.ts';
import type { Diagnostic } from '../../../../../src/gateway/config/diagnostic.ts';
import { readEnvironment } from '../../../../../src/gateway/config/settings/environment.ts';
import { proxyConfigOf, validFile } from '../../../../support/proxy-config.ts';

const POLICIES = `
version: 1
identity: { sources: [ip] }
default: { limits: [99/1h] }
policies:
  - { name: login, match: { method: POST, path: /login }, limits: [9/1h] }
  - { name: users, match: { path: "/users/:id" }, limits: [8/1h] }
  - { name: page, match: { path: /admin/index.php }, limits: [7/1h] }
`;
const WHOLE = proxyConfigOf('caddy', POLICIES);
/** The shipped file without its site. */
const PARTS = WHOLE.slice(0, WHOLE.indexOf(':8000 {'));

async function findingsIn(text: string, policies = POLICIES): Promise<Diagnostic[]> {
  const file = '/no/folder/Caddyfile';
  const settings = readEnvironment({});
  const read = { file, path: file, text, policies: validFile(policies), settings };
  const findings = await examineProxyFile({ ...read, isAccepted: async () => undefined });
  return findings.filter(({ severity }) => severity !== 'fine');
}

/** The id and the line of each finding. */
async function complaints(text: string, policies?: string): Promise<string[]> {
  const lines = text.split('\n');
  return (await findingsIn(text, policies)).map(({ rule, file }) => {
    const line = Number(/:(\d+)$/.exec(file)?.[1]);
    return `${rule}: ${lines[line - 1]?.trim()}`;
  });
}

const site = (...lines: string[]) => `${PARTS}a.example {\n${lines.join('\n')}\n}\n`;
const APPLICATION = 'reverse_proxy 127.0.0.1:3000';
const CHECKED = `import headgate\n${APPLICATION}`;

describe('paths that change after the check', () => {
  test.each([
    'rewrite /old/* /login',
    'rewrite * /login?from=old',
    'rewrite @old /login',
    'rewrite * /users{uri}',
    'rewrite @new /users{http.request.uri.path}',
    'uri strip_prefix /v1',
    'uri /v1/* strip_prefix v1',
    'uri strip_suffix .html',
    'uri replace /people/ /users/',
    'try_files {path} /login',
    'try_files {path}.php /admin/index.php',
  ])('%s', async (line) => {
    expect(await complaints(site(line, CHECKED))).toEqual([`path-rewritten: ${line}`]);
    const both = CHECKED.replace('headgate', 'headgate_rewritten');
    expect(await complaints(site(line, both))).toEqual([]);
    expect(await complaints(site(line, APPLICATION, 'handle /x {', CHECKED, '}'))).not.toEqual([]);
  });

  test('a block that strips its path', async () => {
    const strips = (inside: string) => ['handle_path /v1/* {', inside, '}'];
    const [finding] = await findingsIn(site(CHECKED, ...strips(APPLICATION)));
    expect(finding?.message).toBe(
      'handle_path /v1/* changes the path after headgate has checked it, so policies login, users, page can be avoided',
    );
    const inside = site(...strips(CHECKED), 'file_server');
    expect(await complaints(inside)).toEqual(['path-rewritten: handle_path /v1/* {']);
    const both = CHECKED.replace('headgate', 'headgate_rewritten');
    expect(await complaints(site(...strips(both), 'file_server'))).toEqual([]);
  });

  test('an error page from the application', async () => {
    const page = ['handle_errors {', 'rewrite * /users/1', APPLICATION, '}'];
    expect(await complaints(site(CHECKED, ...page))).toEqual([
      'path-rewritten: rewrite * /users/1',
    ]);
  });

  test('a front controller, if a policy names its file', async () => {
    const php = 'php_fastcgi 127.0.0.1:9000';
    expect(await complaints(site('import headgate', php))).toEqual([`path-rewritten: ${php}`]);
    const others = POLICIES.replace(/^.*index.php.*$/m, '');
    expect(await complaints(site('import headgate', php), others)).toEqual([]);
  });

  test.each([
    'rewrite /old/* /elsewhere',
    'rewrite /login /login?x=1',
    'rewrite * {path}',
    'uri query +a 1',
    'try_files {path} /index.html',
    'rewrite /v1/* /users{uri}',
    'handle_path /other/* {\nreverse_proxy 127.0.0.1:4000\n}',
  ])('not %s', async (line) => {
    expect(await complaints(site(line, CHECKED))).toEqual([]);
  });

  test('not if the other path has a policy with the same limits', async () => {
    const line = 'rewrite /old /login';
    const policies = `${POLICIES}  - { name: old, match: { path: /old }, limits: [9/1h] }\n`;
    expect(await complaints(site(line, CHECKED))).toHaveLength(1);
    expect(await complaints(site(line, CHECKED), policies)).toEqual([]);
  });
});

describe('other ways to an application', () => {
  const other = (...lines: string[]) => `${site(CHECKED)}b.example {\n${lines.join('\n')}\n}\n`;

  test.each([
    'reverse_proxy localhost:3000',
    'reverse_proxy :3000',
    'reverse_proxy http://127.0.0.1:3000',
    'reverse_proxy [::1]:3000',
    'reverse_proxy /api/* 127.0.0.1:3000',
    'reverse_proxy @api 127.0.0.1:9999 127.0.0.1:3000',
  ])('%s', async (line) => {
    expect(await complaints(other(line))).toEqual([`upstream-unchecked: ${line}`]);
    expect(await complaints(other(line, 'import headgate'))).toEqual([]);
    expect(await complaints(other('handle @x {', line, '}'))).toHaveLength(1);
    expect(await complaints(other('route {', line, 'import headgate', '}'))).toHaveLength(1);
    expect(await complaints(other('route {', 'import headgate', line, '}'))).toEqual([]);
  });

  test.each([
    'reverse_proxy 127.0.0.1:4000',
    'reverse_proxy app:3000',
    'reverse_proxy {http.vars.backend}',
    'reverse_proxy {\ndynamic a app 3000\n}',
    'respond "127.0.0.1:3000"',
    '# reverse_proxy 127.0.0.1:3000',
  ])('not %s', async (line) => {
    expect(await complaints(other(line))).toEqual([]);
  });

  test('names the site, and finds addresses below the line', async () => {
    const text = other('reverse_proxy {', 'to localhost:4000 localhost:3000', '}');
    const [finding] = await findingsIn(text);
    expect(finding?.message).toBe(
      'reverse_proxy of b.example passes requests to 127.0.0.1:3000 without asking headgate; reverse_proxy 127.0.0.1:3000 of a.example (/no/folder/Caddyfile:' +
        `${text.split('\n').indexOf(APPLICATION) + 1}) asks it for the same application`,
    );
  });

  test('over FastCGI', async () => {
    const line = 'php_fastcgi 127.0.0.1:3000';
    expect(await complaints(other(line))).toEqual([`upstream-unchecked: ${line}`]);
  });

  test('through snippets, named routes and sites without braces', async () => {
    const shared = `(shared) {\nreverse_proxy {args[0]}\n}\n&(named) {\n${APPLICATION}\n}\n`;
    const two = (line: string) =>
      `${PARTS}${shared}a.example {\n${CHECKED}\n}\nb.example {\n${line}\n}\n`;
    expect(await complaints(two('import shared localhost:3000'))).toEqual([
      'upstream-unchecked: reverse_proxy {args[0]}',
    ]);
    expect(await complaints(two('invoke named'))).toEqual([`upstream-unchecked: ${APPLICATION}`]);
    expect(await complaints(two('import shared localhost:4000'))).toEqual([]);
    expect(await complaints(`${PARTS}a.example\n${CHECKED}\n`)).toEqual([]);
  });

  test('within a site whose check is in one block', async () => {
    const text = site('handle /api/* {', CHECKED, '}', '@x header X 1', `reverse_proxy @x :3000`);
    expect(await complaints(text)).toEqual(['upstream-unchecked: reverse_proxy @x :3000']);
  });
});

describe('parts', () => {
  const OLD = `a.example {
	route {
		reverse_proxy 127.0.0.1:8080 {
			method GET
			rewrite /caddy?
			header_up X-Forwarded-Uri {http.request.orig_uri}
		}
		reverse_proxy 127.0.0.1:3000
	}
	LINES
	handle_errors {
		reverse_proxy 127.0.0.1:3000
	}
}`;

  test('those of 0.2 take requests from other lines of the site', async () => {
    expect(await complaints(OLD.replace('LINES', ''))).toEqual([]);
    for (const line of ['respond /health "ok"', 'file_server', 'reverse_proxy /x 127.0.0.1:4000'])
      expect(await complaints(OLD.replace('LINES', line))).toEqual([
        `part-takes-requests: ${line}`,
      ]);
    const page = 'handle_errors {\nrespond "own"\n}';
    expect(await complaints(OLD.replace('LINES', page))).toEqual([
      'part-takes-requests: handle_errors {',
    ]);
  });

  test('need the one for the global options', async () => {
    const lines = /\tservers 127[^}]*\}\n/;
    for (const options of ['', '\tservers {\n\t\tmax_header_size 1KB\n\t}\n'])
      expect(await complaints(WHOLE.replace(lines, options))).toEqual([
        'global-part-missing: http://:8090 {',
      ]);
  });

  test('without an import limit nothing', async () => {
    expect(
      (await findingsIn(`${PARTS}a.example {\n${APPLICATION}\n}`)).map(({ message }) => message),
    ).toEqual(['no site has import headgate, so nothing is limited']);
  });

  test('printed alone are not a whole file', async () => {
    for (const include of ['global', 'file', 'site']) {
      const found = await complaints(proxyConfigOf('caddy', POLICIES, { include }));
      expect(found).toEqual(['part-of-proxy-file: undefined']);
    }
  });

  test('ask the gateway through a port of Caddy', async () => {
    const moved = (from: string, to: string) => complaints(WHOLE.replaceAll(from, to));
    expect(await moved(':8090', ':8123')).toEqual([]);
    expect(await moved('127.0.0.1:8080', 'localhost:8080')).toEqual([]);
    expect(await moved('127.0.0.1:8080', '127.0.0.1:8081')).toEqual([
      'other-gateway-address: undefined',
    ]);
    const block = /\n\thandle_response @headgate_failed \{[\s\S]*?\n\t\}/;
    expect(await complaints(WHOLE.replace(block, ''))).toEqual([
      'refuses-without-gateway: undefined',
    ]);
  });
});

describe('odd texts', () => {
  test('quotes, heredocs, continued lines and braces in words', async () => {
    const lines = [
      'respond /a "text } with { braces" 200',
      'respond /b `raw "text" }` 200',
      'respond /c "text \\" over',
      'lines }" 200',
      'respond /d <<END',
      '} reverse_proxy 127.0.0.1:3000',
      'END 200',
      'header /e \\',
      'X-Site yes # not }',
      'respond /f "" 204',
    ];
    expect(await complaints(site(...lines, CHECKED))).toEqual([]);
    const open = site('handle /x {', ...lines, APPLICATION, '}', 'handle {', CHECKED, '}');
    expect(await complaints(open)).toEqual([`upstream-unchecked: ${APPLICATION}`]);
  });

  test('broken ones are read in bounded time', async () => {
    const cycle = '(a) {\nimport b\nimport b\n}\n(b) {\nimport a\nimport a\n}\n';
    const many = Array.from(
      { length: 25 },
      (_, i) => `(s${i}) {\nimport s${i + 1}\nimport s${i + 1}\n}\n`,
    );
    for (const text of [
      `${cycle}${site(CHECKED, 'import a')}`,
      `${many.join('')}${site(CHECKED, 'import s0')}`,
      site('{', '{', '{', CHECKED),
      site('}', '}', CHECKED),
      site('respond "never closed', CHECKED),
      site('respond <<NEVER', CHECKED),
      '{',
      '}',
      '"',
      '`',
      '\\',
      'a,',
      '',
      '\u0000{',
      `${'{\n'.repeat(5_000)}${WHOLE}`,
    ])
      await findingsIn(text);
    for (let at = 0; at < WHOLE.length; at += 97)
      await findingsIn(WHOLE.slice(0, at) + WHOLE.slice(at + 3));
  });
});
