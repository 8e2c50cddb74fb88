/** What keeps a version from being released. Each problem names the place and the remedy. */
import { namedVersions } from './named-versions.ts';
import { packageVersion, type ReleaseFiles, textOf } from './release-files.ts';

const UNPUBLISHED =
  /not (published|on npm) yet|until (the first release|0\.2\.0) is (published|on npm)/i;

/** `tag`: of git, if there is one, as `v1.2.3`. */
export function releaseProblems(files: ReleaseFiles, tag?: string): string[] {
  const version = packageVersion(files);
  return [
    ...tagProblems(version, tag),
    ...versionProblems(version, files),
    ...changelogProblems(version, files),
    ...notesProblems(version, files),
    ...unpublishedProblems(files),
  ];
}

function tagProblems(version: string, tag: string | undefined): string[] {
  if (tag === undefined || tag === `v${version}`) return [];
  return [
    `the tag is ${tag}, but package.json has ${version}: delete the tag, set the version, and tag v${version}`,
  ];
}

/** Places that name another version than package.json. */
export function versionProblems(version: string, files: ReleaseFiles): string[] {
  return namedVersions(files)
    .filter((named) => named.version !== version)
    .map(({ place, version: other }) => `${place}: has ${other}: change it to ${version}`);
}

function changelogProblems(version: string, files: ReleaseFiles): string[] {
  const headings = textOf(files, 'CHANGELOG.md').match(/^## .*$/gm) ?? [];
  const escaped = version.replaceAll('.', '\\.');
  const dated = new RegExp(`^## \\[${escaped}\\] - \\d{4}-\\d\\d-\\d\\d$`);
  if (headings.some((heading) => dated.test(heading))) return [];
  return [`CHANGELOG.md: no section: rename "Unreleased" to "[${version}] - YEAR-MONTH-DAY"`];
}

function notesProblems(version: string, files: ReleaseFiles): string[] {
  const path = `docs/release-notes/${version}.md`;
  if (files[path] !== undefined) return [];
  return [`${path}: is missing: write what the release is, for people who have not followed it`];
}

function unpublishedProblems(files: ReleaseFiles): string[] {
  return Object.entries(files).flatMap(([path, text]) =>
    text
      .split('\n')
      .map((line, i) => ({ line, place: `${path}:${i + 1}` }))
      .filter(({ line }) => path !== 'docs/releasing.md' && UNPUBLISHED.test(line))
      .map(({ place }) => `${place}: says that the release is not published: remove the sentence`),
  );
}
