/** What headgate reads of NGINX files, beside what the real NGINX reads. */
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { readNginxConfig } from '../../src/cli/proxy-files/nginx-syntax/config.ts';
import {
  type Directive,
  NginxSyntaxError,
} from '../../src/cli/proxy-files/nginx-syntax/directive.ts';
import { parseNginx } from '../../src/cli/proxy-files/nginx-syntax/parse.ts';
import { filesOf, filesOnDisk } from '../../src/cli/proxy-files/read/proxy-files.ts';

const FOLDER = fileURLToPath(new URL('../fixtures/nginx', import.meta.url));
/** NGINX without OpenResty does not know their directives. */
const OF_OPENRESTY = ['ingress-nginx-excerpt.conf', 'openresty.conf'];
const FILES = globSync('*.conf', { cwd: FOLDER })
  .filter((name) => name !== 'mime-part.conf' && !OF_OPENRESTY.includes(name))
  .sort();

const nginx = inject('programs').nginx;
const root = mkdtempSync(join(tmpdir(), 'headgate-nginx-syntax-'));
afterAll(() => rmSync(root, { recursive: true }));

function runNginx(mode: '-t' | '-T', file: string) {
  const settings = `pid ${join(root, 'pid')}; error_log stderr emerg;`;
  const args = [mode, '-p', root, '-c', file, '-e', 'stderr', '-g', settings];
  return spawnSync(nginx ?? 'nginx', args, { encoding: 'utf8' });
}

/** Without places. */
function shapeOf(tree: readonly Directive[]): unknown {
  return tree.map(({ name, args, block }) => [name, ...args, shapeOf(block)]);
}

describe.skipIf(nginx === undefined)('files as people have them', () => {
  test.each(FILES)('%s has the directives that nginx -T prints', (name) => {
    const path = join(FOLDER, name);
    const { status, stdout, stderr } = runNginx('-T', path);
    expect(status, stderr).toBe(0);
    const ours = readNginxConfig(filesOnDisk(path, readFileSync(path, 'utf8')));
    const printed = readNginxConfig(filesOf('-', stdout));
    expect(ours.problems).toEqual([]);
    expect(shapeOf(ours.tree)).toEqual(shapeOf(printed.tree));
  });
});

const HOST = '$'.concat('{host}');
const VALID = [
  ...['', '# a comment', 'gzip on;', '"gzip" "on";', "gzip 'on';", 'gzip on ;', 'gzip\ton\n;'],
  ...[
    'add_header a b;add_header c d;',
    'add_header a b#c;',
    'add_header a b"c;',
    "add_header a b'c;",
  ],
  ...[
    'add_header a b\\;c;',
    'add_header a b\\ c;',
    'add_header a "b\\"c";',
    'add_header a "b\\\\";',
  ],
  ...[
    'add_header a "x\ny";',
    'add_header a b}c;',
    `add_header a ${HOST};`,
    `add_header a ${HOST}x;`,
  ],
  ...['add_header a "{";', 'add_header a \\{;', 'add_header a "";', 'add_header a "# b";'],
  ...['server { }', 'server{}', 'server\n{\n}', 'server { } server { }'],
  ...['server { location / { } }', 'server { location /a{ } }', 'server { location /a}b { } }'],
  ...['server { location ~ ^/x\\{1\\}$ { } }', 'server { location ~ "^/x{1,2}$" { } }'],
  ...['server { location ~ \\.php$ { } }', 'server { location ~ ^/(a|b)$ { } }'],
  ...['server { if ($uri ~ "x") { return 200; } }', 'server { if ($uri ~ x){ return 200; } }'],
  ...['server { if ($a = "b" ) { return 200; } set $a 1; }', `server { set $a x${HOST}y; }`],
  ...['server { return 200 a}b; }', 'server { return 200 "a" ; }', 'server { # }\n}'],
  ...['map $uri $x { }', 'map $uri $x { "~^/a{2}$" 1; }', 'map $uri $x { "" 1; default "2"; }'],
  ...['map $uri $x { include none*; }', 'types { text/html html; }', 'types { }', 'include none*;'],
  ...['geo $x { default 0; 10.0.0.0/8 1; }', 'split_clients $uri $v { 50% a; * b; }'],
  ...['charset_map koi8-r utf-8 { 80 E282AC; }', 'log_format a "b" \'c\' d;', 'gzip on;\r\n'],
  ...[`server { location /${'x'.repeat(4_093)} { } }`, `#${'x'.repeat(4_094)}\n`],
];
const INVALID = [
  ...['gzip on', '"gzip on;', "gzip 'on;", 'gzip "on;', 'gzip on;;', ';', '{ }', '}', 'gzip on; }'],
  ...['server {', 'server { } }', 'server { ; }', 'server { { } }', 'server { gzip on }', 'server'],
  ...[
    'add_header a "b"c;',
    'add_header a "b"# c\n;',
    "log_format a 'b''c';",
    'add_header a "b\\";',
  ],
  ...['server { location / { if ($a) { return 200; } }', 'server { set $a {; }', 'gzip on; \\'],
  ...['server { location ~ ^/x{1,2}$ { } }', 'server { location = / { return 200; } # }\n'],
  ...[
    'map $uri $x { ; }',
    'map $uri $x { a { } }',
    'map $uri $x { ~^/a{2}$ 1; }',
    'types { a/b c }',
  ],
  ...['types { a/b { } }', 'geo $x { 10.0.0.0/8 { } }', 'split_clients $uri $v { 50% { } * b; }'],
  ...['map $uri $x { default 0; } }', `server { set $a ${HOST}{; }`, 'charset_map a b { 80 { } }'],
  ...[`server { location /${'x'.repeat(4_094)} { } }`, `#${'x'.repeat(4_095)}\n`],
];

describe.skipIf(nginx === undefined)('snippets', () => {
  const named = [...VALID, ...INVALID].map((each) => ({ snippet: each, start: each.slice(0, 80) }));
  test.each(named)('$start', ({ snippet }) => {
    const text = `events {}\nhttp {\n${snippet}\n}\n`;
    const file = join(root, 'nginx.conf');
    writeFileSync(file, text);
    const { status, stderr } = runNginx('-t', file);
    const isValid = VALID.includes(snippet);
    expect(status === 0, stderr).toBe(isValid);
    const parse = () => parseNginx({ name: 'nginx.conf', text });
    if (isValid) expect(parse()).toHaveLength(2);
    else expect(parse).toThrow(NginxSyntaxError);
  });
});

describe.skipIf(nginx === undefined)('the shipped files of NGINX', () => {
  const shipped = fileURLToPath(new URL('../../deploy/nginx/', import.meta.url));
  const text = readFileSync(join(shipped, 'nginx.conf'), 'utf8');
  test.each([
    ['nginx.conf', text],
    [
      'nginx.conf with cloudflare.conf',
      text.replace('#include cloudflare.conf;', `include "${join(shipped, 'cloudflare.conf')}";`),
    ],
  ])('nginx -t has nothing to say about %s', (_, written) => {
    const file = join(root, 'shipped.conf');
    writeFileSync(file, written);
    const { status, stderr } = runNginx('-t', file);
    expect(status, stderr).toBe(0);
    expect(stderr).not.toMatch(/\[(warn|notice|error|crit|alert|emerg)\]/);
  });
});
