/** The list of packages of a release has what users get, and no tools. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { builtInPackages, installedPackages, sbomOf } from '../../tools/release/sbom.ts';

const LOCK = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'));

const item = (name: string) => ({ name, SPDXID: `SPDXRef-${name}`, versionInfo: '1.0.0' });
const relation = (from: string, relationshipType: string, to: string) => ({
  spdxElementId: `SPDXRef-${from}`,
  relatedSpdxElement: `SPDXRef-${to}`,
  relationshipType,
});
const DOCUMENT = {
  spdxVersion: 'SPDX-2.3',
  packages: [item('headgate'), item('server'), item('library'), item('tester')],
  relationships: [
    relation('DOCUMENT', 'DESCRIBES', 'headgate'),
    relation('server', 'DEPENDENCY_OF', 'headgate'),
    relation('library', 'DEV_DEPENDENCY_OF', 'headgate'),
    relation('tester', 'DEV_DEPENDENCY_OF', 'headgate'),
  ],
};

test('it keeps what is installed and what is built in', () => {
  expect(sbomOf(DOCUMENT, ['server@1.0.0', 'library@1.0.0'])).toEqual({
    spdxVersion: 'SPDX-2.3',
    packages: [item('headgate'), item('server'), item('library')],
    relationships: [
      relation('DOCUMENT', 'DESCRIBES', 'headgate'),
      relation('server', 'DEPENDENCY_OF', 'headgate'),
      relation('library', 'DEPENDENCY_OF', 'headgate'),
    ],
  });
});

test('it is refused if npm does not list a package that users get', () => {
  expect(() => sbomOf(DOCUMENT, ['server@2.0.0'])).toThrow('npm sbom lacks server@2.0.0');
});

test('users get what the lock file does not mark as a tool', () => {
  const installed = installedPackages(LOCK);
  const { dependencies, devDependencies } = LOCK.packages[''];
  for (const [name, version] of Object.entries(dependencies))
    expect(installed).toContain(`${name}@${version}`);
  for (const name of ['vitest', 'typescript', 'playwright-core'])
    expect(installed).not.toContain(`${name}@${devDependencies[name]}`);
});

test('the page of licenses names what is built in', () => {
  const page =
    '# Libraries\n\n## @scope/one 1.2.3\n\n```text\n## Purpose\n```\n\n## two 4.0.0-rc.1\n';
  expect(builtInPackages(page)).toEqual(['@scope/one@1.2.3', 'two@4.0.0-rc.1']);
});
