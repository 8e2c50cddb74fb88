/** Copies of the files that we ship for Traefik, with ports that are free. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.ts';
import { type Behind, changed } from './proxies.ts';

export interface Files {
  readonly folder: string;
  /** Paths of the two. */
  readonly startUp: string;
  readonly dynamic: string;
  readonly port: number;
  /** Where Traefik sends its own requests. */
  readonly hopPort: number;
  remove(): void;
}

export async function copyFiles(behind: Behind): Promise<Files> {
  const { application, headgate, secret, changes = {} } = behind;
  const folder = mkdtempSync(join(tmpdir(), 'headgate-traefik-'));
  const [port, hopPort] = [await freePort(), await freePort()];
  const startUp = changed('traefik/traefik.yaml', {
    folder,
    changes: { '":8000"': `"127.0.0.1:${port}"`, '127.0.0.1:8082': `127.0.0.1:${hopPort}` },
  });
  const dynamic = changed('traefik/dynamic.yaml', {
    folder,
    behind,
    changes: {
      '127.0.0.1:3000': `127.0.0.1:${application}`,
      '127.0.0.1:8080': `127.0.0.1:${headgate}`,
      '127.0.0.1:8082': `127.0.0.1:${hopPort}`,
      ...(secret && {
        'X-Headgate-Secret: "" # the secret': `X-Headgate-Secret: "${secret}" # the secret`,
      }),
      ...changes,
    },
  });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { folder, startUp, dynamic, port, hopPort, remove };
}
