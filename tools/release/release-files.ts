/** The files that a release depends on. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Texts by their paths in the repository. */
export type ReleaseFiles = Readonly<Record<string, string>>;

const PATTERNS = [
  'package.json',
  'package-lock.json',
  'Dockerfile',
  '*.md',
  'docs/**/*.md',
  'deploy/**/*.md',
  'deploy/helm/headgate/Chart.yaml',
  'deploy/kubernetes/**/kustomization.yaml',
];

export function readReleaseFiles(root: string): ReleaseFiles {
  const paths = globSync(PATTERNS, { cwd: root }).sort();
  return Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

/** Throws an Error if it is not there. */
export function textOf(files: ReleaseFiles, path: string): string {
  const text = files[path];
  if (text === undefined) throw new Error(`${path} is missing`);
  return text;
}

export function packageVersion(files: ReleaseFiles): string {
  return JSON.parse(textOf(files, 'package.json')).version;
}
