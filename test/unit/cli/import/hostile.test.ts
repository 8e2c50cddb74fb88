/** Whatever the text is: an import gives a valid policy file, or an error that names a place. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ImportError } from '../../../../src/cli/import/import-source.ts';
import { IMPORT_KINDS, type ImportKind } from '../../../../src/cli/import/kinds.ts';
import { IMPORTS, importText, problemsOf } from '../../../support/imports.ts';
import { Random } from '../../../support/random.ts';
import { rounds } from '../../../support/short-form.ts';

/** The errors of the policy file; none if the import refuses the text. */
function errorsAfter(kind: ImportKind, text: string): string[] {
  try {
    return problemsOf(importText(kind, text).text).filter((line) => line.startsWith('error'));
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    expect(error.message).toMatch(/^source:\d+:\d+: /);
    return [];
  }
}

const LINES = 20_000;
const NGINX = 'limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;\n';

const TEXTS: Readonly<Record<string, string>> = {
  nothing: '',
  blanks: ' \n\t'.repeat(LINES),
  'control characters': '\0\x1b[31m\u202e\ufeff'.repeat(100),
  'open braces': '{'.repeat(LINES),
  'open brackets': '['.repeat(LINES),
  'nested blocks': `${NGINX}${'a {'.repeat(60)}`,
  'an open quote': `${NGINX}location "`,
  'Lua without an end': `${NGINX}content_by_lua_block { "`,
  'an include of itself': `${NGINX}include nginx/locations.conf;include /dev/zero;include *;`,
  'maps of each other': `map $a $b { default $a; } map $b $a { default $b; } limit_req_zone $a zone=a:1m rate=1r/s; server { limit_req zone=a; }`,
  'many locations': `${NGINX}server {${'location /x { limit_req zone=a; }'.repeat(3_000)}}`,
  'many servers': `${NGINX}${'server { server_name a.b; limit_req zone=a; }'.repeat(3_000)}`,
  'a long name': `${NGINX}server { location /${'x'.repeat(LINES)} { limit_req zone=a burst=999999999; } }`,
  'a long expression': `${NGINX}server { location ~ ^/${'(a|b)'.repeat(90)}$ { limit_req zone=a; } }`,
  'a large number': `limit_req_zone $remote_addr zone=a:1m rate=999999999r/m; server { limit_req zone=a burst=999999999; }`,
  'a bomb of aliases': `a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\nkind: Ingress\nhttp: *c`,
  'an alias of itself': 'kind: &a\n  items: [*a]\n',
  'many documents': '---\nkind: Ingress\n'.repeat(2_000),
  'lists in lists': `kind: List\nitems: [${'{kind: List, items: ['.repeat(20)}${']}'.repeat(20)}]`,
  'a deep rule': `http: { routers: { a: { rule: "${'('.repeat(500)}", middlewares: [m] } }, middlewares: { m: { rateLimit: { average: 1 } } } }`,
  'a rule with many alternatives': `http: { routers: { a: { rule: "${'(Path(`/a`) || Path(`/b`)) && '.repeat(30)}Path(\`/c\`)", middlewares: [m] } }, middlewares: { m: { rateLimit: { average: 1 } } } }`,
  'chains of each other': `http: { routers: { a: { rule: Path(\`/a\`), middlewares: [a] } }, middlewares: { a: { chain: { middlewares: [b, b, b] } }, b: { chain: { middlewares: [a, m, a] } }, m: { rateLimit: { average: 9000000000, burst: 99999999 } } } }`,
  'many routes': `_format_version: "3.0"\nplugins: [{ name: rate-limiting, config: { minute: 1.5, second: -1 } }]\nroutes:\n${'- { name: x, paths: [/a], plugins: [{ name: rate-limiting, config: { hour: 1 } }] }\n'.repeat(2_500)}`,
  'reserved headers': `_format_version: "3.0"\nplugins: [{ name: rate-limiting, config: { minute: 1, limit_by: header, header_name: "x y" } }, { name: key-auth, config: { key_names: [cookie] } }]`,
};

describe.each(IMPORT_KINDS)('%s', (kind) => {
  test.each(Object.entries(TEXTS))('%s', (_, text) => {
    expect(errorsAfter(kind, text)).toEqual([]);
  });

  test('its fixtures with random changes', () => {
    const random = new Random(20);
    const folder = join(IMPORTS, kind);
    const inputs = readdirSync(folder).filter((name) => /\.(conf|yml)$/.test(name));
    const all = inputs.map((name) => readFileSync(join(folder, name), 'utf8'));
    const pick = (end: number) => random.below(Math.max(1, end));
    for (let round = 0; round < rounds(300); round++) {
      let text = all[round % all.length] ?? '';
      for (let change = pick(4); change >= 0; change--) {
        const donor = all[pick(all.length)] ?? '';
        const [at, from] = [pick(text.length), pick(donor.length)];
        const piece =
          ['', donor.slice(from, from + pick(40)), '0', '{}', '"', '/*', '~'][pick(7)] ?? '';
        text = text.slice(0, at) + piece + text.slice(at + pick(10));
      }
      expect(errorsAfter(kind, text), text).toEqual([]);
    }
  });
});
