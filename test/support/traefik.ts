/**
 * Traefik, with the files that we ship for it, where the program or a container of it can be had. The suite does not
 * install it, because no package has it. Put `traefik` on the PATH, or into ~/.cache/headgate/traefik, and the tests run
 * it in addition to the replay. Without a release at hand, build one from its Go module, which takes many minutes:
 *
 *   go mod download -json github.com/traefik/traefik/v3@v3.7.13   # says where its Dir is; copy that, make it writable
 *   touch webui/static/index.html && CGO_ENABLED=0 go build -o traefik ./cmd/traefik
 */
import { Agent } from 'node:http';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { eventually } from './eventually.ts';
import { call } from './http.ts';
import { startProcess } from './process.ts';
import { isExecutable } from './programs.ts';
import type { Behind, RunningProxy } from './proxies.ts';
import { copyFiles, type Files } from './traefik-files.ts';
import { replayTraefik } from './traefik-replay.ts';

const IMAGE = 'traefik:v3.7.13';

export type StartProxy = (behind: Behind) => Promise<RunningProxy>;

/** How to start the real program, where there is one: on the PATH, in our cache, or as a container. */
export async function realTraefik(): Promise<StartProxy | undefined> {
  const program = findTraefik();
  if (program !== undefined) return (behind) => startTraefik(behind, program);
  // Only on Linux a container sees the loopback addresses of the files.
  if (process.platform !== 'linux') return undefined;
  const { getContainerRuntimeClient } = await import('testcontainers');
  return getContainerRuntimeClient().then(
    () => startInDocker,
    () => undefined,
  );
}

/** For tests that need one of them: the real program, or the replay where there is none. */
export async function startTraefikOrReplay(behind: Behind): Promise<RunningProxy> {
  const start = (await realTraefik()) ?? replayTraefik;
  return start(behind);
}

function findTraefik(): string | undefined {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    join(cache, 'headgate', 'traefik'),
  ];
  return folders.map((folder) => join(folder, 'traefik')).find(isExecutable);
}

async function startTraefik(behind: Behind, program: string): Promise<RunningProxy> {
  const files = await copyFiles(behind);
  const started = startProcess(program, ['--configFile=traefik.yaml'], { cwd: files.folder });
  // It would wait for its clients' idle connections.
  const stop = () => started.stop('SIGKILL');
  return running(files, started.output, stop);
}

async function startInDocker(behind: Behind): Promise<RunningProxy> {
  const { GenericContainer } = await import('testcontainers');
  const files = await copyFiles(behind);
  let output = '';
  const container = await new GenericContainer(IMAGE)
    .withNetworkMode('host')
    .withCopyFilesToContainer([
      { source: files.startUp, target: '/headgate/traefik.yaml' },
      { source: files.dynamic, target: '/headgate/dynamic.yaml' },
    ])
    .withWorkingDir('/headgate')
    .withCommand(['--configFile=traefik.yaml'])
    .withLogConsumer((stream) => {
      stream.on('data', (line: Buffer | string) => {
        output += line;
      });
    })
    .start();
  return running(
    files,
    () => output,
    () => container.stop(),
  );
}

async function running(
  files: Files,
  output: () => string,
  stop: () => Promise<unknown>,
): Promise<RunningProxy> {
  const dispose = async () => {
    await stop();
    files.remove();
  };
  // It listens first, and answers 404 until it has read the second file.
  const status = () =>
    call(`http://127.0.0.1:${files.hopPort}`, '/traefik', { agent: new Agent() }).then(
      (answer) => answer.status,
      () => 0,
    );
  try {
    await eventually(status, (code) => code !== 0 && code !== 404, 10_000, 'its routers');
  } catch (cause) {
    await dispose();
    throw new Error(`Traefik does not answer:\n${output()}`, { cause });
  }
  return { url: `http://127.0.0.1:${files.port}`, output, [Symbol.asyncDispose]: dispose };
}
