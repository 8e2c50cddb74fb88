/** Applications behind a proxy, served by real Python servers. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../support/ports.ts';
import { accepting, startProcess } from '../../support/process.ts';
import { findProgram } from '../../support/programs.ts';

export type PythonServer = 'hypercorn' | 'gunicorn' | 'wsgiref';

export interface ServedRequest {
  /** `WEBSOCKET` for a handshake that the application accepted. */
  readonly method: string;
  readonly path: string;
  /** Of HTTP, such as `1.1` or `2`. */
  readonly version: string;
  /** As the server names them: `x-api-key` for hypercorn, `HTTP_X_API_KEY` for the other two. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface PythonApplication extends AsyncDisposable {
  readonly port: number;
  /** Every request that the application served, in order. One that was answered is here. */
  served(): ServedRequest[];
}

const APPLICATIONS = fileURLToPath(new URL('../../fixtures/applications/', import.meta.url));

const ARGUMENTS: Readonly<Record<PythonServer, (port: number) => string[]>> = {
  // Without worker processes, which would survive SIGKILL. It closes no idle connection that a proxy may just use again.
  hypercorn: (port) => [
    ...['asgi:app', '--bind', `127.0.0.1:${port}`],
    ...['--workers', '0', '--keep-alive', '3600'],
  ],
  gunicorn: (port) => ['wsgi:app', '--bind', `127.0.0.1:${port}`, '--no-control-socket'],
  wsgiref: (port) => ['wsgi.py', String(port)],
};

export async function startPythonApplication(server: PythonServer): Promise<PythonApplication> {
  const folder = mkdtempSync(join(tmpdir(), `headgate-${server}-`));
  const seenFile = join(folder, 'seen');
  const port = await freePort();
  const program = server === 'wsgiref' ? 'python3' : (findProgram(server) ?? server);
  const started = startProcess(program, ARGUMENTS[server](port), {
    cwd: APPLICATIONS,
    env: {
      ...process.env,
      SEEN_FILE: seenFile,
      PYTHONDONTWRITEBYTECODE: '1',
      // Of a server that pip unpacked: its packages are beside the folder of its program.
      PYTHONPATH: [dirname(dirname(program)), APPLICATIONS].join(':'),
    },
  });
  await accepting(port, started);
  return {
    port,
    served: () =>
      existsSync(seenFile)
        ? readFileSync(seenFile, 'utf8')
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line) as ServedRequest)
        : [],
    [Symbol.asyncDispose]: async () => {
      await started.stop('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
