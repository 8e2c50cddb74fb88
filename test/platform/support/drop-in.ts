/** `headgate ratelimit` as a process, with the environment that a container of envoyproxy/ratelimit has. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/ports.ts';
import { type RunningProcess, startProcess } from '../../support/process.ts';
import { MAIN, NODE } from '../../support/tested-command.ts';

export interface DropInContainer extends AsyncDisposable {
  /** Of every process in the container. */
  readonly env: NodeJS.ProcessEnv;
  readonly running: RunningProcess;
  /** Of `/json` and `/healthcheck`. */
  readonly jsonUrl: string;
  /** Where it finds the rules. */
  readonly folder: string;
}

/** Resolves when it listens. `given`: further variables. */
export async function startDropInContainer(
  rules: string,
  given: NodeJS.ProcessEnv = {},
): Promise<DropInContainer> {
  const root = mkdtempSync(join(tmpdir(), 'headgate-container-'));
  const folder = join(root, 'ratelimit/config');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'rules.yaml'), rules);
  const [json, grpc, ops] = [await freePort(), await freePort(), await freePort()];
  const env = {
    RUNTIME_ROOT: root,
    RUNTIME_SUBDIRECTORY: 'ratelimit',
    USE_STATSD: 'false',
    HOST: '127.0.0.1',
    GRPC_HOST: '127.0.0.1',
    PORT: String(json),
    GRPC_PORT: String(grpc),
    ...(given.USE_PROMETHEUS === 'true'
      ? { PROMETHEUS_ADDR: `127.0.0.1:${ops}` }
      : { DEBUG_HOST: '127.0.0.1', DEBUG_PORT: String(ops) }),
    HEADGATE_DRAIN_MS: '0',
    ...given,
  };
  const { PATH, HOME } = process.env;
  const running = startProcess(NODE, [MAIN, 'ratelimit'], { env: { PATH, HOME, ...env } });
  const close = async () => {
    await running.stop();
    rmSync(root, { recursive: true });
  };
  try {
    await running.printed(/ {2}store .*\n/);
  } catch (error) {
    await close();
    throw error;
  }
  const jsonUrl = `http://127.0.0.1:${json}`;
  return { env, running, jsonUrl, folder, [Symbol.asyncDispose]: close };
}
