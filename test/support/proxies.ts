/** Real proxies with the files of deploy/. A run changes the ports, and what it names. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './ports.ts';
import { accepting, startProcess } from './process.ts';
import { findProgram, type ProgramName } from './programs.ts';
import { isShort } from './short-form.ts';

const DEPLOY = new URL('../../deploy/', import.meta.url);

export interface Behind {
  /** Ports. */
  readonly application: number;
  readonly headgate: number;
  /** Where headgate answers over gRPC. */
  readonly grpc?: number;
  /** The unix socket on which headgate listens instead: NGINX only. */
  readonly socket?: string;
  /** The proxy secret. */
  readonly secret?: string | undefined;
  /** The configuration, in place of the file that we ship. */
  readonly text?: string | undefined;
  /** Other changes to the file: texts of it, and what replaces them. */
  readonly changes?: Readonly<Record<string, string>>;
  /**
   * Keeps the timeouts of the file, after which requests pass or are refused without an answer of headgate. Otherwise
   * the proxy waits ten seconds, so that a busy machine does not change the outcome of a test.
   */
  readonly hasShippedTimeouts?: boolean;
}

export interface RunningProxy extends AsyncDisposable {
  readonly url: string;
  /** All that the proxy wrote, with its error log. */
  output(): string;
}

/** A proxy that is one program of this machine. */
export interface RunningProgram extends RunningProxy {
  readonly pid: number;
}

/** Where the tests start a program with a file of deploy/: the file with other ports, and how it runs. */
interface Shipped {
  readonly program: ProgramName;
  /** In deploy/. */
  readonly file: string;
  /** Texts of the file, and what replaces them. */
  readonly changes: (port: number) => Readonly<Record<string, string>>;
  readonly args: (file: string, folder: string) => string[];
  readonly env?: (folder: string) => NodeJS.ProcessEnv;
}

async function startShipped(
  behind: Behind,
  { program, file, changes, args, env = () => process.env }: Shipped,
): Promise<RunningProgram> {
  const folder = mkdtempSync(join(tmpdir(), `headgate-${program}-`));
  const port = await freePort();
  const all = { ...changes(port), ...behind.changes };
  const copy = changed(file, { folder, behind, changes: all });
  return runProxy(program, args(copy, folder), port, folder, env(folder));
}

/** The line of a file of deploy/ that sends the secret, without its comment mark. */
export function secretLine(line: string, { secret }: Behind): Readonly<Record<string, string>> {
  return secret ? { [`#${line}`]: line.replace('the secret', secret) } : {};
}

export function startNginx(behind: Behind): Promise<RunningProgram> {
  const { application, headgate, socket } = behind;
  return startShipped(behind, {
    program: 'nginx',
    file: 'nginx/nginx.conf',
    changes: (port) => ({
      'listen 8000': `listen 127.0.0.1:${port}`,
      '127.0.0.1:3000': `127.0.0.1:${application}`,
      '127.0.0.1:8080': socket ? `unix:${socket}` : `127.0.0.1:${headgate}`,
      ...secretLine('proxy_set_header X-Headgate-Secret "the secret"', behind),
    }),
    args: nginxArguments,
  });
}

/** In the foreground, with its error log on stderr. */
export function nginxArguments(file: string, folder: string): string[] {
  const globals = `daemon off; pid "${join(folder, 'pid')}"; error_log stderr notice;`;
  return ['-p', folder, '-c', file, '-e', 'stderr', '-g', globals];
}

/** The versions that this run tests. */
export const ENVOYS = isShort ? (['envoy'] as const) : (['envoy-oldest', 'envoy'] as const);
export const CADDIES = isShort ? (['caddy'] as const) : (['caddy', 'caddy-newest'] as const);
type Envoy = 'envoy' | 'envoy-oldest';
type Caddy = 'caddy' | 'caddy-newest';

export function startEnvoy(behind: Behind, program: Envoy = 'envoy'): Promise<RunningProgram> {
  return runEnvoy(program, 'envoy/envoy.yaml', behind, {
    'port_value: 8080': `port_value: ${behind.headgate}`,
    ...secretLine('- { key: x-headgate-secret, value: "the secret"', behind),
  });
}

export function startEnvoyGrpc(behind: Behind, program: Envoy = 'envoy'): Promise<RunningProgram> {
  const secret = 'initial_metadata: [{ key: x-headgate-secret, value: "the secret"';
  return runEnvoy(program, 'envoy/envoy-grpc.yaml', behind, {
    'port_value: 8081': `port_value: ${behind.grpc}`,
    ...secretLine(secret, behind),
  });
}

/** Its file for a language model. Envoy before 1.38 has no filter for the tokens of streams. */
export function startEnvoyForModels(behind: Behind): Promise<RunningProgram> {
  return runEnvoy('envoy', 'envoy/openai.yaml', behind, {
    'port_value: 8081': `port_value: ${behind.grpc}`,
    ...secretLine('initial_metadata: [{ key: x-headgate-secret, value: "the secret"', behind),
  });
}

/** Its file for an MCP server. Envoy before 1.40 does not compare the headers of calls with their bodies. */
export function startEnvoyForMcp(behind: Behind): Promise<RunningProgram> {
  return runEnvoy('envoy', 'envoy/mcp.yaml', behind, {
    'port_value: 8081': `port_value: ${behind.grpc}`,
  });
}

/** With its rate limit filter in place of ext_authz. */
export function startEnvoyRateLimit(
  behind: Behind,
  program: Envoy = 'envoy',
): Promise<RunningProgram> {
  return runEnvoy(program, 'ratelimit/envoy.yaml', behind, {
    'port_value: 8081': `port_value: ${behind.grpc}`,
  });
}

function runEnvoy(
  program: Envoy,
  file: string,
  behind: Behind,
  changes: Readonly<Record<string, string>>,
): Promise<RunningProgram> {
  return startShipped(behind, {
    program,
    file,
    changes: (port) => ({
      'address: 0.0.0.0, port_value: 8000': `address: 127.0.0.1, port_value: ${port}`,
      'port_value: 3000': `port_value: ${behind.application}`,
      ...changes,
    }),
    args: envoyArguments,
  });
}

/** One thread, and a shared-memory segment that no other Envoy uses. */
export function envoyArguments(file: string): string[] {
  return ['-c', file, '--concurrency', '1', '--use-dynamic-base-id', '--log-level', 'warning'];
}

export async function startCaddy(
  behind: Behind,
  program: Caddy = 'caddy',
): Promise<RunningProgram> {
  const { application, headgate, secret } = behind;
  const checks = await freePort();
  return startShipped(behind, {
    program,
    file: 'caddy/Caddyfile',
    changes: (port) => ({
      ':8000 {': `:${port} {\n\tbind 127.0.0.1`,
      '127.0.0.1:3000': `127.0.0.1:${application}`,
      '127.0.0.1:8080': `127.0.0.1:${headgate}`,
      // For its checks. Several Caddys could share one port.
      ':8090': `:${checks}`,
    }),
    args: caddyArguments,
    env: (folder) => ({ ...caddyEnvironment(folder), HEADGATE_PROXY_SECRET: secret }),
  });
}

export function caddyArguments(file: string): string[] {
  return ['run', '--config', file, '--adapter', 'caddyfile'];
}

/** Caddy writes its data below its home. */
export function caddyEnvironment(folder: string): NodeJS.ProcessEnv {
  return { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
}

const HAPROXY_ACTION = fileURLToPath(new URL('haproxy/headgate.lua', DEPLOY));

/** Where HAProxy finds the action of headgate. */
export const withHaproxyAction = (text: string) =>
  text.replace('per-thread headgate.lua', `per-thread "${HAPROXY_ACTION}"`);

export async function startHaproxy(behind: Behind): Promise<RunningProgram> {
  const { application, headgate } = behind;
  const calls = await freePort();
  return startShipped(behind, {
    program: 'haproxy',
    file: 'haproxy/haproxy.cfg',
    changes: (port) => ({
      'per-thread headgate.lua': withHaproxyAction('per-thread headgate.lua'),
      'bind :8000': `bind 127.0.0.1:${port}`,
      '127.0.0.1:8090': `127.0.0.1:${calls}`,
      '127.0.0.1:3000': `127.0.0.1:${application}`,
      '127.0.0.1:8080': `127.0.0.1:${headgate}`,
      ...secretLine(`http-request set-var(txn.headgate_secret) 'str("the secret")'`, behind),
    }),
    args: (file) => ['-f', file],
  });
}

export async function runProxy(
  name: ProgramName,
  args: string[],
  port: number,
  folder: string,
  env = process.env,
): Promise<RunningProgram> {
  const program = startProcess(findProgram(name) ?? name, args, { env });
  await accepting(port, program);
  return {
    pid: program.pid,
    url: `http://127.0.0.1:${port}`,
    output: program.output,
    [Symbol.asyncDispose]: async () => {
      await program.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Changed {
  readonly folder: string;
  readonly changes: Readonly<Record<string, string>>;
  /** What replaces the file, and whether it keeps its timeouts. */
  readonly behind?: Pick<Behind, 'text' | 'hasShippedTimeouts'>;
}

/** A copy of a file of deploy/, or of the text in its place, with other ports. Throws if a changed text is not in it. */
export function changed(name: string, { folder, changes, behind = {} }: Changed): string {
  const written = behind.text ?? readFileSync(new URL(name, DEPLOY), 'utf8');
  const all = Object.keys(changes).toSorted((a, b) => b.length - a.length);
  for (const shipped of all)
    if (!written.includes(shipped)) throw new Error(`${name} must have "${shipped}"`);
  // In one pass: a free port such as 30001 begins like a port of the file.
  const shippedTexts = all.map((each) => each.replaceAll(/[$()*+.?[\\\]^{|}/]/g, '\\$&'));
  const text =
    all.length === 0
      ? written
      : written.replaceAll(
          new RegExp(shippedTexts.join('|'), 'g'),
          (each) => changes[each] ?? each,
        );
  const copy = join(folder, name.slice(name.lastIndexOf('/') + 1));
  writeFileSync(copy, behind.hasShippedTimeouts === true ? text : patient(text));
  return copy;
}

const SHORT_TIMEOUT =
  /(?<!keepalive_|idle_)(timeout:?\s+(?:(?:connect|server|queue)\s+)?)(?:\d+ms|0\.\d+s)/gi;

/** With ten seconds in place of every timeout below one second, after which a proxy gives a gateway up. */
export function patient(text: string): string {
  return text.replaceAll(SHORT_TIMEOUT, '$110s');
}
