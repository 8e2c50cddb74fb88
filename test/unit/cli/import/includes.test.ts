import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { ImportError, importPolicies } from '../../../../src/cli/import/import-source.ts';
import { fitsPath } from '../../../../src/cli/proxy-files/read/file-pattern.ts';
import type { ProxyFiles } from '../../../../src/cli/proxy-files/read/proxy-files.ts';
import { ConfigError } from '../../../../src/gateway/config/diagnostic.ts';

const ZONE = 'limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;';

/** Imports /etc/nginx/nginx.conf of these files. */
function imported(files: Readonly<Record<string, string>>) {
  const main = '/etc/nginx/nginx.conf';
  const source: ProxyFiles = {
    main: { name: main, text: files[main] ?? '' },
    paths(named) {
      const wanted = resolve('/etc/nginx', named);
      return named.includes('*')
        ? Object.keys(files).filter((path) => fitsPath(wanted, path))
        : [wanted];
    },
    read(path) {
      const text = files[path];
      if (text === undefined) throw new ConfigError([`${path}: does not exist`]);
      return { path, name: path, text };
    },
    isElsewhere: (path) => !path.startsWith('/etc/nginx/'),
  };
  return importPolicies('nginx', source, { shadow: false });
}

test('paths are relative to the first file, in included files too', () => {
  const { text, findings } = imported({
    '/etc/nginx/nginx.conf': `http { ${ZONE} include conf.d/*.conf; }`,
    '/etc/nginx/conf.d/site.conf': 'server { include limits/login.inc; }',
    '/etc/nginx/limits/login.inc': 'location = /login { limit_req zone=a; }',
  });
  expect(text).toContain('path: /login');
  expect(text).toContain('/etc/nginx/limits/login.inc:1');
  expect(findings).toEqual([]);
});

test('a pattern may name no file, and a name must', () => {
  const { findings } = imported({
    '/etc/nginx/nginx.conf': `${ZONE} include none/*.conf; include /srv/none.conf; server { limit_req zone=a; }`,
  });
  expect(findings.map(({ message }) => message)).toEqual([
    'include /srv/none.conf: not carried over: /srv/none.conf: does not exist. If it has limits, import it too, or run the command where NGINX reads it.',
  ]);
});

test('files that include each other are an error', () => {
  const files = {
    '/etc/nginx/nginx.conf': `${ZONE} include a.conf;`,
    '/etc/nginx/a.conf': '\n  include b.conf;',
    '/etc/nginx/b.conf': 'include a.conf;',
  };
  expect(() => imported(files)).toThrow(ImportError);
  expect(() => imported(files)).toThrow(
    '/etc/nginx/b.conf:1:1: /etc/nginx/a.conf includes itself, directly or through other files: remove this line',
  );
});

test('files that include others twice do not end in a flood', () => {
  const files: Record<string, string> = { '/etc/nginx/nginx.conf': `${ZONE} include f0;` };
  for (let i = 0; i < 19; i++) files[`/etc/nginx/f${i}`] = `include f${i + 1}; include f${i + 1};`;
  files['/etc/nginx/f19'] = '';
  expect(() => imported(files)).toThrow('more than 4000 files are included');
});

test('does not show the text of a file elsewhere that is no NGINX configuration', () => {
  const files = {
    '/etc/nginx/nginx.conf': `http { ${ZONE}\n  include /etc/shadow; }`,
    '/etc/shadow': 'root:secret:19000:',
  };
  expect(() => imported(files)).toThrow(
    /^\/etc\/nginx\/nginx\.conf:2:3: \/etc\/shadow has mistakes/,
  );
});

test('shows the text of a file below the folder of the first one', () => {
  const files = {
    '/etc/nginx/nginx.conf': `http { ${ZONE} include sites/a; }`,
    '/etc/nginx/sites/a': 'server_name a',
  };
  expect(() => imported(files)).toThrow(/^\/etc\/nginx\/sites\/a:1:1: "server_name" has no end/);
});
