/** Whether a gateway can listen on its ports, or does already, and whether its settings fit each other. */
import { once } from 'node:events';
import { createServer, type ListenOptions } from 'node:net';
import type { Diagnostic } from '../../gateway/config/diagnostic.ts';
import type { Environment } from '../../gateway/config/settings/environment.ts';
import { canonicalAddress, isLoopback } from '../../gateway/core/identity/address.ts';
import { found } from './catalog.ts';

const TIMEOUT_MS = 2_000;

interface Port {
  readonly setting: string;
  readonly host: string;
  readonly port: number;
}

type Settings = Pick<
  Environment,
  'host' | 'port' | 'socket' | 'grpcPort' | 'opsHost' | 'opsPort' | 'proxySecrets'
>;

export async function* portFindings(settings: Settings): AsyncGenerator<Diagnostic> {
  const { host, port, socket, grpcPort, opsHost, opsPort } = settings;
  const ops = { setting: 'HEADGATE_OPS_PORT', host: opsHost, port: opsPort };
  const isRunning = await isGateway(ops);
  const ports: Port[] = [
    ...(socket !== undefined || port === undefined
      ? []
      : [{ setting: 'HEADGATE_PORT', host, port }]),
    ...(grpcPort === undefined ? [] : [{ setting: 'HEADGATE_GRPC_PORT', host, port: grpcPort }]),
    ops,
  ];
  for (const each of ports) yield await findingOn(each, settings, isRunning);
}

async function findingOn(
  port: Port,
  { proxySecrets }: Settings,
  isRunning: boolean,
): Promise<Diagnostic> {
  const place = `${port.host.includes(':') ? `[${port.host}]` : port.host}:${port.port}`;
  const code = port.port === 0 ? undefined : await listenError(port);
  if (code === undefined) return found('port', place, `${port.setting} is free`);
  if (code !== 'EADDRINUSE')
    return found('port-refused', place, `cannot be opened (${code}): see ${port.setting}`);
  const isOurs =
    port.setting === 'HEADGATE_PORT' ? await answersChecks(port, proxySecrets[0]) : isRunning;
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

async function isGateway({ host, port }: Port): Promise<boolean> {
  const body = await bodyOf(`${urlOf(host, port)}/livez`, {});
  return body === '{"status":"ok"}';
}

async function answersChecks(port: Port, secret: string | undefined): Promise<boolean> {
  return (await answerOf(port, secret)) !== undefined;
}

/** Whether the gateway of these settings accepts a secret, or none. Undefined if no gateway answers. */
export async function acceptsSecret(
  { host, port, socket }: Settings,
  secret: string | undefined,
): Promise<boolean | undefined> {
  if (socket !== undefined || port === undefined) return undefined;
  const answer = await answerOf({ host, port }, secret);
  return answer && answer === 'accepts';
}

/** Asks for a path that is no check, so that nothing is counted. Undefined if it is no gateway. */
async function answerOf(
  { host, port }: Pick<Port, 'host' | 'port'>,
  secret: string | undefined,
): Promise<'accepts' | 'refuses' | undefined> {
  const headers = secret === undefined ? {} : { 'x-headgate-secret': secret };
  const body = (await bodyOf(`${urlOf(host, port)}/doctor`, headers)) ?? '';
  if (body.includes('The proxy secret is ')) return 'refuses';
  return body.includes('Proxies send checks to ') ? 'accepts' : undefined;
}

async function bodyOf(url: string, headers: Record<string, string>): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(url, { headers, signal, redirect: 'manual' });
    return (await response.text()).trim();
  } catch {
    return undefined;
  }
}

/** Where this machine reaches the ops server of a gateway with these settings. */
export function opsUrlOf({ opsHost, opsPort }: Pick<Environment, 'opsHost' | 'opsPort'>): string {
  return urlOf(opsHost, opsPort);
}

function urlOf(host: string, port: number): string {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}

export function settingsFindings(
  { host, socket, proxySecrets }: Pick<Environment, 'host' | 'socket' | 'proxySecrets'>,
  isSet: (name: string) => boolean,
): Diagnostic[] {
  const isLocal = host === 'localhost' || isLoopback(canonicalAddress(host) ?? '');
  const findings: Diagnostic[] = [];
  if (socket === undefined && !isLocal && proxySecrets.length === 0)
    findings.push(
      found('open-check-port', 'HEADGATE_HOST', `${host} is open to others, without a secret`),
    );
  if (socket !== undefined && isSet('HEADGATE_PORT'))
    findings.push(
      found('unused-port-setting', 'HEADGATE_PORT', 'has no effect beside HEADGATE_LISTEN'),
    );
  return findings;
}
