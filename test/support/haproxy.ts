/** HAProxy with its files of deploy/. A run changes the ports, and what it names. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './ports.ts';
import { type Behind, changed, type RunningProxy, runProxy } from './proxies.ts';

const ACTION = fileURLToPath(new URL('../../deploy/haproxy/headgate.lua', import.meta.url));

export async function startHaproxy(behind: Behind): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-haproxy-'));
  const port = await freePort();
  const callsPort = await freePort();
  const file = changed('haproxy/haproxy.cfg', {
    folder,
    behind,
    changes: {
      'lua-load-per-thread headgate.lua': `lua-load-per-thread "${ACTION}"`,
      'bind :8000': `bind 127.0.0.1:${port}`,
      '127.0.0.1:8090': `127.0.0.1:${callsPort}`,
      '127.0.0.1:3000': `127.0.0.1:${behind.application}`,
      '127.0.0.1:8080': `127.0.0.1:${behind.headgate}`,
      ...(behind.secret && {
        '#http-request set-var(txn.headgate_secret) \'str("the secret")\'': `http-request set-var(txn.headgate_secret) 'str("${behind.secret}")'`,
      }),
      ...behind.changes,
    },
  });
  return runProxy('haproxy', ['-f', file], port, folder);
}
