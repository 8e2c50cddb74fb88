/** Which files are policy files, which are rate limit files, and what is said of each. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkFiles } from '../../../../src/cli/check/check-files.ts';
import { readEnvironment } from '../../../../src/gateway/config/settings/environment.ts';
import { NOON_MS } from '../../../support/requests.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const { cloudflareRanges } = readEnvironment({});

const POLICY = `version: 1
identity: { sources: [ip], trusted_proxies: [loopback] }
default: { limits: [100/1min] }
policies: [{ name: login, match: { path: /login }, limits: [5/1min] }]
`;
const rules = (domain: string, unit = 'minute') => `domain: ${domain}
descriptors:
  - key: remote_address
    rate_limit: { unit: ${unit}, requests_per_unit: 5 }
`;

interface Checked {
  readonly paths?: readonly string[];
  readonly mergeDomains?: boolean;
  readonly input?: string;
  readonly prepare?: (folder: string) => void;
}

/** The errors of each file, under its name in the folder; folders are named in `paths`, `` is all. */
function checked(files: Readonly<Record<string, string>>, options: Checked = {}) {
  using stack = new DisposableStack();
  const folder = temporaryFolder(stack);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  options.prepare?.(folder);
  const { paths = Object.keys(files), mergeDomains = false, input = '' } = options;
  const named = paths.map((path) => (path === '-' ? path : join(folder, path)));
  const settings = { ...{ cloudflareRanges, mergeDomains, input }, nowMs: NOON_MS };
  return checkFiles(named, settings).map(({ file, policies, limits, diagnostics }) => ({
    file: file.slice(file.lastIndexOf('/') + 1),
    ...{ policies, limits },
    errors: diagnostics.filter(({ severity }) => severity === 'error').map(({ rule }) => rule),
    notes: diagnostics
      .filter(({ rule }) => rule === 'ratelimit-folder-not-entered')
      .map((each) => each.file.slice(each.file.lastIndexOf('/') + 1)),
  }));
}

const policyFile = (file: string, errors: string[] = [], policies: number | undefined = 2) => ({
  ...{ file, policies, limits: undefined, errors, notes: [] },
});
const ruleFile = (file: string, limits: number | undefined = 1, errors: string[] = []) => ({
  ...{ file, policies: undefined, limits, errors, notes: [] },
});

test('each file is told apart by its text, and told in the order in which it was named', () => {
  expect(checked({ 'b.yaml': rules('b'), 'p.yaml': POLICY, 'a.yaml': rules('a') })).toEqual([
    ruleFile('b.yaml'),
    policyFile('p.yaml'),
    ruleFile('a.yaml'),
  ]);
  expect(checked({}, { paths: [] })).toEqual([]);
});

test('a file with a mistake has no policies or limits, and the others have', () => {
  const found = checked({
    'good.yaml': rules('a'),
    'bad.yaml': rules('b', 'parsec'),
    'p.yaml': POLICY.replace('5/1min', 'five'),
  });
  expect(found.map(({ file, policies, limits }) => ({ file, policies, limits }))).toEqual([
    { file: 'good.yaml', policies: undefined, limits: 1 },
    { file: 'bad.yaml', policies: undefined, limits: undefined },
    { file: 'p.yaml', policies: undefined, limits: undefined },
  ]);
  expect(found.map(({ errors }) => errors.length)).toEqual([0, 1, 1]);
});

test('two files of one domain are a mistake, unless domains are merged', () => {
  const files = { 'a.yaml': rules('same'), 'b.yaml': rules('same').replace('remote_address', 'k') };
  const errors = (mergeDomains: boolean) =>
    checked(files, { mergeDomains }).map((each) => each.errors.length);
  expect(errors(false)).toEqual([0, 1]);
  expect(errors(true)).toEqual([0, 0]);
});

test('a rate limit file that is named twice is one file; a policy file is examined as often as named', () => {
  const files = { 'a.yaml': rules('a'), 'p.yaml': POLICY };
  const paths = ['a.yaml', 'p.yaml', './a.yaml', 'p.yaml', 'a.yaml'];
  expect(checked(files, { paths })).toEqual([
    ruleFile('a.yaml'),
    policyFile('p.yaml'),
    policyFile('p.yaml'),
  ]);
});

test('standard input is a policy file or a rate limit file', () => {
  expect(checked({}, { paths: ['-'], input: POLICY })).toMatchObject([{ policies: 2, errors: [] }]);
  expect(checked({}, { paths: ['-'], input: rules('a') })).toMatchObject([
    { policies: undefined, limits: 1, errors: [] },
  ]);
});

test('a file that is not there, or empty', () => {
  expect(checked({}, { paths: ['none.yaml'] })).toEqual(
    [policyFile('none.yaml', ['unreadable-file'], undefined)].map((each) => ({
      ...each,
      policies: undefined,
    })),
  );
  const [empty] = checked({ 'empty.yaml': '' });
  expect(empty?.policies).toBeUndefined();
  expect(empty?.errors).toHaveLength(1);
});

test('all files of a directory are rate limit files if one of them is', () => {
  const files = { 'd/a.yaml': rules('a'), 'd/p.yaml': POLICY, 'd/z.yaml': rules('z') };
  const found = checked(files, { paths: ['d'] });
  expect(found.map(({ file, limits }) => [file, limits])).toEqual([
    ['a.yaml', 1],
    ['p.yaml', undefined],
    ['z.yaml', 1],
  ]);
  expect(found[1]?.policies).toBeUndefined();
  expect(found[1]?.errors).not.toEqual([]);
});

test('a file that is named beside its directory is one file', () => {
  expect(checked({ 'd/a.yaml': rules('a') }, { paths: ['d', 'd/a.yaml'] })).toEqual([
    ruleFile('a.yaml'),
  ]);
});

test('a directory without a rate limit file is refused like a file', () => {
  for (const files of [{ 'd/p.yaml': POLICY }, { 'd/notes.txt': 'text' }]) {
    const found = checked(files, { paths: ['d'] });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ file: 'd', policies: undefined, limits: undefined });
    expect(found[0]?.errors).toHaveLength(1);
  }
});

test('a Kubernetes object in a directory is a rate limit file with a mistake, which says so', () => {
  const object = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: rules }\n';
  const [found, ...others] = checked({ 'd/map.yaml': object }, { paths: ['d'] });
  expect(others).toEqual([]);
  expect(found).toMatchObject({ file: 'map.yaml', policies: undefined, limits: undefined });
  expect(found?.errors).toHaveLength(1);
});

test('a link to a directory is not entered, and the first file says so, once', () => {
  const found = checked(
    { 'd/a.yaml': rules('a'), 'd/b.yaml': rules('b'), 'far/c.yaml': rules('c') },
    { paths: ['d'], prepare: (folder) => symlinkSync(join(folder, 'far'), join(folder, 'd/link')) },
  );
  expect(found.map(({ file, limits, notes }) => [file, limits, notes])).toEqual([
    ['a.yaml', 1, ['link']],
    ['b.yaml', 1, []],
  ]);
});
