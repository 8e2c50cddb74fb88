/** The blocks of the quickstart of NGINX, for sites that tests start. */
import { readFileSync } from 'node:fs';
import { blocksOf } from '../../support/page.ts';

const PAGE = readFileSync(new URL('../../../docs/quickstart/nginx.md', import.meta.url), 'utf8');

/** The block with this line, or of this file, with the port and the application of `startNginxSite`. */
export function shown(line: string): string {
  const block = blocksOf(PAGE).find(
    ({ language, file, text }) => language === 'nginx' && (file === line || text.includes(line)),
  );
  if (block === undefined) throw new Error(`The quickstart does not show ${line}`);
  return block.text
    .replace('listen 80;', 'listen PORT;')
    .replaceAll('http://127.0.0.1:3000', 'APPLICATION');
}
