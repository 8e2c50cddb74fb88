/** A site of Caddy that imports the parts that headgate prints, as the quickstart says. */
import { mkdtempSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/ports.ts';
import {
  caddyArguments,
  caddyEnvironment,
  patient,
  type RunningProgram,
  runProxy,
} from '../../support/proxies.ts';
import { proxyConfigOf } from '../../support/proxy-config.ts';

export type CaddyProgram = 'caddy' | 'caddy-newest';

export interface CaddySite {
  readonly program: CaddyProgram;
  /** Text of the policy file. */
  readonly policies: string;
  /** A whole Caddyfile. SITE, APPLICATION and FOLDER in it are replaced. */
  readonly caddyfile: string;
  /** Ports. */
  readonly headgate: number;
  readonly application: number;
  /** Other files of the folder, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Keeps the timeouts of the parts. */
  readonly hasShippedTimeouts?: boolean;
}

export interface WrittenCaddySite {
  readonly folder: string;
  /** The path of the Caddyfile. */
  readonly file: string;
  readonly port: number;
}

const MODIFIED = new Date('2026-06-01T10:00:00Z');

/** Writes the files, which belong in one folder. */
export async function writeCaddySite(site: CaddySite): Promise<WrittenCaddySite> {
  const { policies, application, headgate, hasShippedTimeouts = false } = site;
  const folder = mkdtempSync(join(tmpdir(), 'headgate-caddy-site-'));
  const port = await freePort();
  const calls = await freePort();
  const part = (include: string) => {
    const text = proxyConfigOf('caddy', policies, {
      include,
      gateway: { host: '127.0.0.1', port: headgate },
      application: { host: '127.0.0.1', port: application },
      ownPort: calls,
    });
    return hasShippedTimeouts ? text : patient(text);
  };
  writeFileSync(join(folder, 'headgate-global.caddy'), part('global'));
  writeFileSync(join(folder, 'headgate.caddy'), part('file'));
  writeFileSync(join(folder, 'headgate-site.caddy'), part('site'));
  for (const [name, text] of Object.entries(site.files ?? {})) {
    writeFileSync(join(folder, name), text);
    // Caddy makes the ETag of a file from its time.
    utimesSync(join(folder, name), MODIFIED, MODIFIED);
  }
  const file = join(folder, 'Caddyfile');
  const caddyfile = site.caddyfile
    .replaceAll('SITE', `http://127.0.0.1:${port}`)
    .replaceAll('APPLICATION', `127.0.0.1:${application}`)
    .replaceAll('FOLDER', folder);
  writeFileSync(file, caddyfile);
  return { folder, file, port };
}

export async function startCaddySite(site: CaddySite): Promise<RunningProgram & WrittenCaddySite> {
  const written = await writeCaddySite(site);
  const { folder, file, port } = written;
  const env = caddyEnvironment(folder);
  return { ...(await runProxy(site.program, caddyArguments(file), port, folder, env)), ...written };
}
