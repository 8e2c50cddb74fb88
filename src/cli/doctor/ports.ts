import { once } from 'node:events';
import { createServer, type ListenOptions } from 'node:net';
import type { Diagnostic } from '../../gateway/config/diagnostic.ts';
import type { Environment } from '../../gateway/config/settings/environment.ts';
import { isThisMachine } from '../../gateway/core/identity/address.ts';
import { urlOf } from '../ops-client/gateway-client.ts';
import { type HostAndPort, hostAndPort } from '../proxy-files/proxy-address.ts';
import { found } from './catalog.ts';

const TIMEOUT_MS = 2_000;

interface Port extends HostAndPort {
  readonly setting: string;
}

type Settings = Pick<
  Environment,
  'host' | 'port' | 'socket' | 'grpcPort' | 'opsHost' | 'opsPort' | 'proxySecrets'
>;

export async function* portFindings(settings: Settings): AsyncGenerator<Diagnostic> {
  const { host, port, socket, grpcPort, opsHost, opsPort } = settings;
  const ops = { setting: 'HEADGATE_OPS_PORT', host: opsHost, port: opsPort };
  const isRunning = (await bodyOf(`${urlOf(opsHost, opsPort)}/livez`)) === '{"status":"ok"}';
  const ports: Port[] = [];
  if (socket === undefined && port !== undefined)
    ports.push({ setting: 'HEADGATE_PORT', host, port });
  if (grpcPort !== undefined) ports.push({ setting: 'HEADGATE_GRPC_PORT', host, port: grpcPort });
  ports.push(ops);
  for (const each of ports) yield await findingOn(each, settings, isRunning);
}

async function findingOn(
  port: Port,
  { proxySecrets }: Settings,
  isRunning: boolean,
): Promise<Diagnostic> {
  const place = String(hostAndPort(port));
  const code = port.port === 0 ? undefined : await listenError(port);
  if (code === undefined) return found('port', place, `${port.setting} is free`);
  if (code !== 'EADDRINUSE')
    return found('port-refused', place, `cannot be opened (${code}): see ${port.setting}`);
  const isOurs =
    port.setting === 'HEADGATE_PORT'
      ? (await takesSecret(port, proxySecrets[0])) !== undefined
      : isRunning;
  if (isOurs) return found('port', place, `${port.setting}: a gateway has it`);
  return found('port-taken', place, `another program has it: see ${port.setting}`);
}

async function listenError({ host, port }: Port): Promise<string | undefined> {
  const server = createServer();
  const options: ListenOptions = { host, port, exclusive: true };
  try {
    await once(server.listen(options), 'listening');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
  server.close();
  await once(server, 'close');
  return undefined;
}

/** Resolves to undefined if no gateway of these settings answers. */
export async function acceptsSecret(
  { host, port, socket }: Settings,
  secret: string | undefined,
): Promise<boolean | undefined> {
  if (socket !== undefined || port === undefined) return undefined;
  return takesSecret({ host, port }, secret);
}

/** Requests a path that is no check, so that nothing is counted. Resolves to undefined if it is no gateway. */
async function takesSecret(
  { host, port }: HostAndPort,
  secret: string | undefined,
): Promise<boolean | undefined> {
  const headers = secret === undefined ? {} : { 'x-headgate-secret': secret };
  const body = (await bodyOf(`${urlOf(host, port)}/doctor`, { headers })) ?? '';
  if (body.includes('The proxy secret is ')) return false;
  return body.includes('Proxies send checks to ') || undefined;
}

export async function bodyOf(
  url: string,
  {
    headers = {},
    withinMs = TIMEOUT_MS,
  }: { headers?: Record<string, string>; withinMs?: number } = {},
): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(withinMs);
    const response = await fetch(url, { headers, signal, redirect: 'manual' });
    return (await response.text()).trim();
  } catch {
    return undefined;
  }
}

export function opsUrlOf({ opsHost, opsPort }: Pick<Environment, 'opsHost' | 'opsPort'>): string {
  return urlOf(opsHost, opsPort);
}

export function settingsFindings(
  { host, socket, proxySecrets }: Pick<Environment, 'host' | 'socket' | 'proxySecrets'>,
  isSet: (name: string) => boolean,
): Diagnostic[] {
  const findings: Diagnostic[] = [];
  if (socket === undefined && !isThisMachine(host) && proxySecrets.length === 0) {
    const problem = `${host} is open to others, without a secret`;
    findings.push(found('open-check-port', 'HEADGATE_HOST', problem));
  }
  if (socket !== undefined && isSet('HEADGATE_PORT')) {
    const problem = 'has no effect beside HEADGATE_LISTEN';
    findings.push(found('unused-port-setting', 'HEADGATE_PORT', problem));
  }
  return findings;
}
