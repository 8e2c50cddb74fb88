/** The version is the same everywhere, and the check before a release says what is missing. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { withPeers } from '../../tools/image/add-tracing.ts';
import { namedVersions } from '../../tools/release/named-versions.ts';
import { packageVersion, readReleaseFiles, textOf } from '../../tools/release/release-files.ts';
import { releaseProblems, versionProblems } from '../../tools/release/release-problems.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FILES = readReleaseFiles(ROOT);
const VERSION = packageVersion(FILES);
const NOTES = `docs/release-notes/${VERSION}.md`;

test('package, image, chart, manifests and install commands name one version', () => {
  const files = namedVersions(FILES).map(({ place }) => place.split(':')[0]);
  expect(files).toEqual(
    expect.arrayContaining([
      'package.json',
      'package-lock.json',
      'Dockerfile',
      'deploy/helm/headgate/Chart.yaml',
      'deploy/helm/headgate/README.md',
      'deploy/kubernetes/base/kustomization.yaml',
      'deploy/kubernetes/overlays/sidecar/kustomization.yaml',
      'docs/install.md',
      'docs/running.md',
      'docs/vm.md',
      'docs/quickstart/kubernetes.md',
    ]),
  );
  expect(versionProblems(VERSION, FILES)).toEqual([]);
});

test('this version can be released once the pages no longer say that it is not published', () => {
  const problems = releaseProblems(FILES, `v${VERSION}`);
  expect(problems.filter((problem) => !problem.includes('is not published'))).toEqual([]);
});

test('the release notes link to files that exist, and say how to install this version', () => {
  const notes = textOf(FILES, NOTES);
  const links = [...notes.matchAll(/\]\((https:[^)]+)\)/g)].map(([, url = '']) => url);
  const inRepository = `https://github.com/headgate/headgate/blob/v${VERSION}/`;
  const paths = links
    .filter((url) => url.startsWith('https://github.com/headgate/headgate/'))
    .map((url) => url.slice(inRepository.length).split('#')[0] ?? '');
  expect(paths.length).toBeGreaterThan(10);
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  for (const link of links) expect(link).not.toMatch(/\/blob\/(?!v\d)/);
  for (const command of [
    `headgate@${VERSION}`,
    `ghcr.io/headgate/headgate:${VERSION}`,
    `charts/headgate --version ${VERSION}`,
  ])
    expect(notes).toContain(command);
});

describe('the check before a release refuses', () => {
  const changed = (path: string, from: string | RegExp, to: string) =>
    releaseProblems({ ...FILES, [path]: textOf(FILES, path).replace(from, to) });

  test('a tag of another version', () => {
    expect(releaseProblems(FILES, 'v9.9.9')[0]).toBe(
      `the tag is v9.9.9, but package.json has ${VERSION}: delete the tag, set the version, and tag v${VERSION}`,
    );
  });

  test.each([
    ['package-lock.json', /"version": "[\d.]+"/, '"version": "9.9.9"'],
    ['Dockerfile', /VERSION=0[\d.]+$/m, 'VERSION=9.9.9'],
    ['deploy/helm/headgate/Chart.yaml', /^appVersion: .*/m, 'appVersion: 9.9.9'],
    ['deploy/kubernetes/base/kustomization.yaml', /newTag: .*/, 'newTag: 9.9.9'],
    ['docs/install.md', /headgate:[\d.]+/, 'headgate:9.9.9'],
  ] as const)('another version in %s', (path, from, to) => {
    const [problem = ''] = changed(path, from, to);
    expect(problem).toMatch(/^\S+:\d+: has 9\.9\.9: change it to \d/);
    expect(problem.startsWith(path)).toBe(true);
  });

  test('a file that no longer names the version where it should', () => {
    expect(() => changed('Dockerfile', /^ARG VERSION.*/m, '')).toThrow(
      'Dockerfile: names the version 0 times, not 1',
    );
  });

  test('a changelog without the version, and missing notes', () => {
    expect(changed('CHANGELOG.md', `## [${VERSION}] - `, '## ')).toContain(
      `CHANGELOG.md: no section: rename "Unreleased" to "[${VERSION}] - YEAR-MONTH-DAY"`,
    );
    const { [NOTES]: _, ...others } = FILES;
    expect(releaseProblems(others)).toContain(
      `${NOTES}: is missing: write what the release is, for people who have not followed it`,
    );
  });

  test('a page that says that the release is not published', () => {
    expect(changed('docs/faq.md', /^/, 'It is not published yet.\n')).toContain(
      'docs/faq.md:1: says that the release is not published: remove the sentence',
    );
  });
});

test('the image has OpenTelemetry in the versions that the tests use', () => {
  const manifest = JSON.parse(textOf(FILES, 'package.json'));
  const { dependencies, devDependencies } = withPeers(manifest);
  for (const name of Object.keys(manifest.peerDependencies)) {
    expect(dependencies[name]).toBe(manifest.devDependencies[name]);
    expect(devDependencies).not.toHaveProperty(name);
  }
  expect(() => withPeers({ ...manifest, devDependencies: {} })).toThrow(
    /^package\.json: add @opentelemetry\/\S+ to devDependencies$/,
  );
});
