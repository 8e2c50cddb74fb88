import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { PROXIES } from '../../../../src/cli/proxy-files/print/proxy-config.ts';
import { DIALECT_NAMES, DIALECTS, HTTP_DIALECTS } from '../../../../src/gateway/dialects/index.ts';
import { PROXY_STARTS } from '../../../support/proxy-starts.ts';

const root = (path: string) => new URL(`../../../../${path}`, import.meta.url);
const read = (path: string) => readFileSync(root(path), 'utf8');
/** Names between backticks, in their order. */
const namesIn = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name);

describe('the table of proxies', () => {
  test('has every file of src/gateway/dialects once', () => {
    const files = readdirSync(root('src/gateway/dialects')).filter((file) => file.endsWith('.ts'));
    const names = files.map((file) => file.replace('.ts', '')).filter((name) => name !== 'index');
    expect([...DIALECT_NAMES].sort()).toEqual(names.sort());
  });

  test('mounts each proxy at the path of its name', () => {
    for (const { name, mount } of HTTP_DIALECTS) expect(mount).toBe(`/${name}`);
  });

  test('has the proxies that proxy-config writes files for', () => {
    const written = DIALECTS.filter(({ hasProxyConfig }) => hasProxyConfig);
    expect([...PROXIES].sort()).toEqual(written.map(({ name }) => name).sort());
  });

  test.each(DIALECTS)(
    '$name has a folder in deploy/ and a section in docs/proxies.md',
    ({ name }) => {
      const folder = name.replace('-grpc', '');
      expect(existsSync(root(`deploy/${folder}`))).toBe(true);
      expect(read('docs/proxies.md')).toMatch(
        new RegExp(`^\\*\\*.*\\(\\.\\./deploy/${folder}\\)`, 'm'),
      );
    },
  );

  test('has the proxies that the end-to-end tests start', () => {
    expect(PROXY_STARTS.map(({ name }) => name).sort()).toEqual([...DIALECT_NAMES].sort());
  });
});

test('docs/running.md lists every path that proxies send checks to', () => {
  const [, list = ''] = /where proxies send checks: (.*) \|/.exec(read('docs/running.md')) ?? [];
  expect(namesIn(list).sort()).toEqual(HTTP_DIALECTS.map(({ mount }) => mount).sort());
});

test('README.md has the quickstart of every proxy', () => {
  for (const name of DIALECT_NAMES)
    expect(read('README.md')).toContain(`](docs/quickstart/${name.replace('-grpc', '')}.md)`);
});
