/** Every place that names the version of headgate. They must agree, or a user installs another version than the page says. */
import type { ReleaseFiles } from './release-files.ts';

export interface NamedVersion {
  /** `FILE:LINE` */
  readonly place: string;
  readonly version: string;
}

interface Pattern {
  readonly files: RegExp;
  /** Its last group is the version. */
  readonly text: RegExp;
  /** Each of these files must name it so many times. */
  readonly times?: number;
}

const VERSION = String.raw`(\d+\.\d+\.\d+[\w.-]*)`;

const PATTERNS: readonly Pattern[] = [
  { files: /^package\.json$/, text: new RegExp(`^  "version": "${VERSION}"`, 'gm'), times: 1 },
  {
    // Of the package itself, which the file names twice.
    files: /^package-lock\.json$/,
    text: new RegExp(`"name": "headgate",\\s+"version": "${VERSION}"`, 'g'),
    times: 2,
  },
  { files: /^Dockerfile$/, text: new RegExp(`^ARG VERSION=${VERSION}$`, 'gm'), times: 1 },
  {
    files: /\/Chart\.yaml$/,
    text: new RegExp(`^(?:version|appVersion): ${VERSION}$`, 'gm'),
    times: 2,
  },
  {
    files: /\/kustomization\.yaml$/,
    text: new RegExp(`newName: ghcr\\.io/headgate/headgate\\s+newTag: ${VERSION}$`, 'gm'),
  },
  {
    // `headgate@1.2.3`, `headgate:1.2.3` and `headgate-1.2.3.tgz` of commands. Older versions have their own release notes.
    files: /^(?!docs\/release-notes\/|CHANGELOG).*\.md$/,
    text: /\bheadgate(?:[@:]|-(?=[\d.]+\.tgz))(\d+\.\d+\.\d+)/g,
  },
  {
    files: /^(?!docs\/release-notes\/|CHANGELOG).*\.md$/,
    text: new RegExp(`charts/headgate --version ${VERSION}`, 'g'),
  },
];

export function namedVersions(files: ReleaseFiles): NamedVersion[] {
  return PATTERNS.flatMap((pattern) =>
    Object.entries(files)
      .filter(([path]) => pattern.files.test(path))
      .flatMap(([path, text]) => foundIn(path, text, pattern)),
  );
}

function foundIn(path: string, text: string, pattern: Pattern): NamedVersion[] {
  const found = [...text.matchAll(pattern.text)].map((match) => {
    const version = match.at(-1) ?? '';
    const line = text.slice(0, match.index + match[0].length).split('\n').length;
    return { place: `${path}:${line}`, version };
  });
  if (pattern.times !== undefined && found.length !== pattern.times)
    throw new Error(`${path}: names the version ${found.length} times, not ${pattern.times}`);
  return found;
}
