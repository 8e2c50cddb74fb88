/** The licenses of the libraries that are built into the package. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const LICENSE_FILE = /^(licen[sc]e|copying)(\.(md|txt))?$/i;

/**
 * A page with the name, version and license text of each package that the files belong to.
 *
 * @throws {Error} if a package has no license text: then it cannot be passed on.
 */
export function licensesOf(paths: readonly string[]): string {
  const folders = new Set(
    paths.flatMap((path) => /.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []),
  );
  const sections = [...folders].sort().map(sectionOf);
  return `# Libraries in this package\n\nTheir code is in this folder.\n\n${sections.join('\n')}`;
}

function sectionOf(folder: string): string {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => LICENSE_FILE.test(entry));
  if (file === undefined) throw new Error(`${name} ${version} has no license file`);
  const text = readFileSync(join(folder, file), 'utf8').trim();
  return `## ${name} ${version}\n\n\`\`\`text\n${text}\n\`\`\`\n`;
}
