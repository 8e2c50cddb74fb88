/** What headgate doctor finds in the text of an NGINX configuration that includes the printed parts. */

import { examineProxyFile } from '../../src/cli/proxy-files/read/examine-files.ts';
import type { Diagnostic } from '../../src/gateway/config/diagnostic.ts';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { proxyConfigOf, validFile } from './proxy-config.ts';

export interface ExaminedSite {
  readonly policies: string;
  /** The block `http` without its braces and without the part for it. */
  readonly http: string;
  /** What stands beside the block `http`. */
  readonly beside?: string;
  /** The parts are those that headgate 0.2 printed. */
  readonly hasOldParts?: boolean;
}

/** Without those that are fine. The subject is the number of the line in `http`. */
export async function findingsIn(site: ExaminedSite): Promise<Diagnostic[]> {
  const { policies, http, beside = '', hasOldParts = false } = site;
  const part = (include: string) => {
    const printed = proxyConfigOf('nginx', policies, { include });
    return hasOldParts ? asInRelease02(printed) : printed;
  };
  const files = {
    'nginx.conf': `http { include headgate-http.conf;\n${http}\n}\n${beside}`,
    ...Object.fromEntries(
      ['http', 'server', 'location'].map((each) => [`headgate-${each}.conf`, part(each)]),
    ),
  };
  const text = Object.entries(files)
    .map(([name, content]) => `# configuration file /etc/nginx/${name}:\n${content}\n`)
    .join('');
  const findings = await examineProxyFile({
    ...{ file: 'standard input', path: '-', text },
    policies: validFile(policies),
    settings: readEnvironment({}),
    isAccepted: async () => undefined,
  });
  return findings
    .filter(({ severity }) => severity !== 'fine')
    .map((finding) => ({ ...finding, file: lineIn(finding.file) }));
}

/** As `3 upstream-unchecked`, sorted. */
export async function idsIn(site: ExaminedSite): Promise<string[]> {
  return (await findingsIn(site)).map(({ file, rule }) => `${file} ${rule}`).sort();
}

function lineIn(subject: string): string {
  const line = /^\/etc\/nginx\/nginx\.conf:(\d+)$/.exec(subject)?.[1];
  return line === undefined ? subject : String(Number(line) - 1);
}

/** What differs for headgate doctor. */
function asInRelease02(part: string): string {
  return part
    .replace(
      'error_page 403 = $headgate_answers_403;',
      'error_page 403 = @headgate_reply;\nerror_page 401 = @headgate_refused;',
    )
    .replace('if ($uri = /_headgate) { break; }', '')
    .replaceAll(/^ *(proxy_cache|proxy_store|proxy_bind|recursive_error_pages) off;$/gm, '')
    .replace('proxy_set_body "";', '');
}
