/** Real proxies, run with the files of deploy/ as they are but for the ports. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { accepting, freePort, startProcess } from './process.ts';
import type { ProgramName } from './provision.ts';

const DEPLOY = new URL('../../deploy/', import.meta.url);

export interface Ports {
  readonly application: number;
  readonly headgate: number;
}

export interface RunningProxy extends AsyncDisposable {
  readonly url: string;
  /** Stands for all that the proxy wrote, its error log among it. */
  output(): string;
}

export async function startNginx(ports: Ports): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-nginx-'));
  const port = await freePort();
  const file = withPorts('nginx/nginx.conf', folder, {
    'listen 8000': `listen 127.0.0.1:${port}`,
    '127.0.0.1:3000': `127.0.0.1:${ports.application}`,
    '127.0.0.1:8080': `127.0.0.1:${ports.headgate}`,
  });
  const globals = `daemon off; pid ${join(folder, 'pid')}; error_log stderr notice;`;
  const args = ['-p', folder, '-c', file, '-e', 'stderr', '-g', globals];
  return run('nginx', args, port, folder);
}

export async function startEnvoy(ports: Ports): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-envoy-'));
  const port = await freePort();
  const file = withPorts('envoy/envoy.yaml', folder, {
    'address: 0.0.0.0, port_value: 8000': `address: 127.0.0.1, port_value: ${port}`,
    'port_value: 3000': `port_value: ${ports.application}`,
    'port_value: 8080': `port_value: ${ports.headgate}`,
  });
  const args = [
    '-c',
    file,
    '--concurrency',
    '1',
    '--use-dynamic-base-id',
    '--log-level',
    'warning',
  ];
  return run('envoy', args, port, folder);
}

export async function startCaddy(ports: Ports): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-caddy-'));
  const port = await freePort();
  const file = withPorts('caddy/Caddyfile', folder, {
    ':8000 {': `:${port} {\n\tbind 127.0.0.1`,
    '127.0.0.1:3000': `127.0.0.1:${ports.application}`,
    '127.0.0.1:8080': `127.0.0.1:${ports.headgate}`,
  });
  // It keeps what it keeps below its home.
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  return run('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], port, folder, env);
}

async function run(
  name: ProgramName,
  args: string[],
  port: number,
  folder: string,
  env = process.env,
): Promise<RunningProxy> {
  const program = startProcess(inject('programs')[name] ?? name, args, { env });
  await accepting(port, program);
  return {
    url: `http://127.0.0.1:${port}`,
    output: program.output,
    [Symbol.asyncDispose]: async () => {
      await program.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A copy of a file of deploy/ with other ports. Each of them must be there. */
function withPorts(name: string, folder: string, ports: Readonly<Record<string, string>>): string {
  let text = readFileSync(new URL(name, DEPLOY), 'utf8');
  for (const [shipped, free] of Object.entries(ports)) {
    if (!text.includes(shipped)) throw new Error(`${name} must have "${shipped}"`);
    text = text.replaceAll(shipped, free);
  }
  const copy = join(folder, name.slice(name.lastIndexOf('/') + 1));
  writeFileSync(copy, text);
  return copy;
}
