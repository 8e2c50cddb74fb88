/**
 * Writes the generated pages of docs/: all of them, or those that are named, as in `npm run docs -- commands logs`.
 * `npm run docs -- proxies` writes the table of docs/proxies.md, which takes real proxies and a minute.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { PAGES, pageFile } from './pages.ts';

const PROXIES = 'proxies';

const names = process.argv.slice(2);
const unknown = names.filter((name) => name !== PROXIES && !Object.hasOwn(PAGES, name));
if (unknown.length > 0) {
  console.error(`no page ${unknown}; one of ${[...Object.keys(PAGES), PROXIES].join(', ')}`);
  process.exitCode = 2;
} else {
  for (const [name, page] of Object.entries(PAGES)) {
    if (names.length === 0 || names.includes(name)) writeFileSync(pageFile(name), page());
  }
  if (names.includes(PROXIES)) process.exitCode = writeProxies();
}

/** Clients try every proxy, and what they see is written. */
function writeProxies(): number {
  const args = ['run', '--project', 'system', 'test/e2e/proxy-matrix.test.ts'];
  const env = { ...process.env, WRITE_DOCS: '1' };
  return spawnSync('vitest', args, { env, stdio: 'inherit' }).status ?? 1;
}
