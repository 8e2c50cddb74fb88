/** Asks a running gateway, at the port of its operators. */
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { Command, InvalidArgumentError } from 'commander';
import { readEnvironment } from '../../config/settings/environment.ts';
import { EXIT_FAULT, EXIT_USAGE } from './exit-codes.ts';
import { GatewayRefused } from './gateway-refused.ts';

export interface GatewayFlags {
  readonly gateway?: string;
}

export interface ChangeFlags extends GatewayFlags {
  readonly by?: string;
}

export interface OverrideFlags extends ChangeFlags {
  readonly for: string;
  readonly reason: string;
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly body?: object;
}

/** What the port of the proxies says, and that of an older gateway. */
const STRANGERS = /^Nothing is here\./;
/** Longer than any of its answers takes. */
const WITHIN_MS = 10_000;
const ANY_HOSTS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** A command that asks a gateway. */
export function gatewayCommand(name: string): Command {
  return new Command(name).option(
    '--gateway <url>',
    'where its operators ask (HEADGATE_OPS_HOST, HEADGATE_OPS_PORT: http://127.0.0.1:9464)',
    readUrl,
  );
}

/** The same for one that changes something. */
export function changingCommand(name: string): Command {
  return gatewayCommand(name).option(
    '--by <name>',
    'who does it, for the audit log (your account)',
  );
}

/** And for one whose change ends by itself. */
export function overridingCommand(name: string): Command {
  return changingCommand(name)
    .requiredOption('--for <duration>', 'how long: a number and s, min, h or d, 31d at most')
    .requiredOption('--reason <text>', 'why, for the audit log and headgate overrides');
}

/** Rejects with GatewayRefused. */
export async function askGateway<T>({ gateway }: GatewayFlags, call: Call): Promise<T> {
  const environment = readEnvironment(process.env);
  const url = gateway ?? urlOf(environment.opsHost, environment.opsPort);
  const { adminToken } = environment;
  const { method = 'GET', path, body } = call;
  let response: Response;
  try {
    response = await fetch(url + path, {
      method,
      headers: {
        ...(adminToken !== undefined && { authorization: `Bearer ${adminToken}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(WITHIN_MS),
    });
  } catch (cause) {
    throw new GatewayRefused(
      EXIT_FAULT,
      `no gateway answers at ${url}: start it, or name another with --gateway`,
      { cause },
    );
  }
  const text = await bodyOf(response, url);
  const answer = objectIn(text);
  if (response.ok && answer !== undefined) return answer as T;
  const { error, message } = (answer ?? {}) as Partial<Record<string, unknown>>;
  if (typeof message !== 'string' || typeof error !== 'string' || STRANGERS.test(message)) {
    throw new GatewayRefused(EXIT_FAULT, `${url} is not the port of the operators of a gateway`);
  }
  const isUsage = response.status === 400 || response.status === 404;
  throw new GatewayRefused(isUsage ? EXIT_USAGE : EXIT_FAULT, message);
}

/** What breaks off, or goes on for too long, is no answer. */
async function bodyOf(response: Response, url: string): Promise<string> {
  try {
    return await response.text();
  } catch (cause) {
    throw new GatewayRefused(EXIT_FAULT, `${url} did not finish its answer`, { cause });
  }
}

/** As they are known here. */
export function operator(by: string | undefined): string {
  if (by !== undefined) return by;
  try {
    return userInfo().username;
  } catch {
    // Containers have users without a name.
    return 'unknown';
  }
}

/** A client as it was typed, or, for what is not to stay in the history of a shell, as standard input has it. */
export function readClient(client: string): string {
  return client === '-' ? (readFileSync(0, 'utf8').split('\n')[0]?.trim() ?? '') : client;
}

/** Where this machine reaches what listens at this place. */
export function urlOf(host: string, port: number): string {
  const name = ANY_HOSTS[host] ?? host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

export function readUrl(text: string): string {
  const url = URL.parse(text);
  const isPlain = url !== null && url.username === '' && url.password === '' && url.search === '';
  if (isPlain && /^https?:$/.test(url.protocol)) return url.href.replace(/\/+$/, '');
  throw new InvalidArgumentError(
    'It is a URL such as http://127.0.0.1:9464, without a user; the token is taken from HEADGATE_ADMIN_TOKEN.',
  );
}

/** Undefined for what is no JSON, or no object. */
function objectIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
