/** A site of NGINX that includes the parts that headgate prints, as the quickstart says. */
import { chmodSync, mkdtempSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.ts';
import { nginxArguments, patient, type RunningProgram, runProxy } from './proxies.ts';
import { proxyConfigOf } from './proxy-config.ts';

const MODIFIED = new Date('2026-06-01T10:00:00Z');

export interface NginxSite {
  /** Text of the policy file. */
  readonly policies: string;
  /** The block `http` without its braces. PORT, APPLICATION and the folder of `unix:/run/` in it are replaced. */
  readonly http: string;
  /** Ports. */
  readonly headgate: number;
  readonly application: number;
  /** Other files of the folder, by name. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface WrittenSite {
  readonly folder: string;
  /** The path of the main file. */
  readonly file: string;
  readonly port: number;
}

/** Writes the files, which belong in one folder. */
export async function writeNginxSite(site: NginxSite): Promise<WrittenSite> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-site-'));
  // Workers of an NGINX that root starts run as another user.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const gateway = { host: '127.0.0.1', port: site.headgate };
  for (const include of ['http', 'server', 'location'])
    writeFileSync(
      join(folder, `headgate-${include}.conf`),
      patient(proxyConfigOf('nginx', site.policies, { include, gateway })),
    );
  for (const [name, text] of Object.entries(site.files ?? {})) {
    writeFileSync(join(folder, name), text);
    // NGINX makes ETag and Last-Modified of it.
    utimesSync(join(folder, name), MODIFIED, MODIFIED);
  }
  const http = site.http
    .replaceAll('unix:/run/', `unix:${folder}/`)
    .replaceAll('PORT', `127.0.0.1:${port}`)
    .replaceAll('APPLICATION', `http://127.0.0.1:${site.application}`);
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, `events {}\nhttp {\n${http}\n}\n`);
  return { folder, file, port };
}

export async function startNginxSite(site: NginxSite): Promise<RunningProgram & WrittenSite> {
  const written = await writeNginxSite(site);
  const program = await runProxy(
    'nginx',
    nginxArguments(written.file, written.folder),
    written.port,
    written.folder,
  );
  return { ...program, ...written };
}
