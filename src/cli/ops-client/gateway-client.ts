/** Calls an operation of a running gateway at its ops port. */
import { type Operation, pathFields, placeOfFields } from '../../gateway/operations/operation.ts';
import {
  type Call,
  OPERATIONS,
  type OperationName,
  type Output,
} from '../../gateway/operations/operation-table.ts';
import { commandEnvironment, isDropIn } from '../environment/commands.ts';
import { CommandFailed } from '../output/command-failed.ts';
import { EXIT_FAULT, EXIT_USAGE } from '../output/exit-codes.ts';
import { type Line, type OutputFlags, print } from '../output/output.ts';

/** The gateway refused the call, or did not answer, or the server is not a gateway. */
export class GatewayRefused extends CommandFailed {
  override readonly name = 'GatewayRefused';
  readonly code = 'HEADGATE_GATEWAY_REFUSED';
}

export interface GatewayFlags {
  readonly gateway?: string;
}

interface Answer<T> {
  /** Unchecked, for programs. */
  readonly json: object;
  /** Throws GatewayRefused if the answer lacks something that this version of the command needs. */
  read(): T;
}

/** Answers of the check port, and of an ops port that lacks the operation, begin like this. */
const NOT_THE_OPS_API = /^Nothing is here\./;
const TIMEOUT_MS = 10_000;
const NO_TOKEN =
  'HEADGATE_ADMIN_TOKEN is not set: set it for the gateway and for this command, to at least 16 characters; without it a gateway in place of envoyproxy/ratelimit shows health and metrics only';
const MISSING_TOKEN =
  'the gateway requires its admin token: set HEADGATE_ADMIN_TOKEN for this command to the value that the gateway has';
const WRONG_TOKEN =
  'the gateway has another admin token: set HEADGATE_ADMIN_TOKEN for this command to the value that the gateway has';
const ALL_INTERFACES: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Rejects with GatewayRefused. */
export async function callGateway<Name extends OperationName>(
  { gateway }: GatewayFlags,
  name: Name,
  input: Call<Name>,
): Promise<Answer<Output<Name>>> {
  const operation: Operation = OPERATIONS[name];
  const { opsHost, opsPort, adminToken } = commandEnvironment(process.env);
  const url = gateway ?? urlOf(opsHost, opsPort);
  const response = await send(url, httpCall(operation, input), adminToken);
  if (response.status === 401 && isDropIn(process.env) && !process.env.HEADGATE_ADMIN_TOKEN)
    throw new GatewayRefused(EXIT_FAULT, NO_TOKEN);
  const json = await bodyOf(response, url);
  if (response.status === 401 && json?.error === 'unauthorized')
    throw new GatewayRefused(EXIT_FAULT, adminToken === undefined ? MISSING_TOKEN : WRONG_TOKEN);
  if (!response.ok || json === undefined) throw refusalOf(response.status, json, url);
  return {
    json,
    read() {
      const { success, data } = operation.output.safeParse(json);
      if (success) return data as Output<Name>;
      throw new GatewayRefused(
        EXIT_FAULT,
        `${url} gave an answer that this version of headgate cannot read; -o json prints it`,
      );
    },
  };
}

/** Rejects with GatewayRefused. */
export async function changeGateway<Name extends OperationName>(
  flags: GatewayFlags,
  name: Name,
  input: Call<Name>,
): Promise<Output<Name>> {
  return (await callGateway(flags, name, input)).read();
}

interface Printing<Name extends OperationName> {
  readonly input: Call<Name>;
  readonly linesOf: (answer: Output<Name>, nowMs: number) => readonly Line[];
  /** The command then exits with a fault. */
  readonly isFault?: (answer: Output<Name>) => boolean;
}

/** Prints what the gateway answers. Rejects with GatewayRefused. */
export async function printAnswer<Name extends OperationName>(
  { output, ...flags }: GatewayFlags & OutputFlags,
  name: Name,
  { input, linesOf, isFault }: Printing<Name>,
): Promise<void> {
  const answer = await callGateway(flags, name, input);
  print(output, answer.json, () => linesOf(answer.read(), Date.now()));
  if (isFault?.(answer.read())) process.exitCode = EXIT_FAULT;
}

/** Puts the fields of an input where the route of the operation expects them: in its path, query or body. */
export function httpCall(operation: Operation, input: object) {
  const { method } = operation;
  const given = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  let path = operation.path;
  for (const name of pathFields(operation)) {
    path = path.replace(`:${name}`, () => encodeURIComponent(String(given.get(name))));
    given.delete(name);
  }
  const fields = Object.fromEntries(given);
  if (placeOfFields(operation) === 'body') return { method, path, body: JSON.stringify(fields) };
  const query = new URLSearchParams(fields);
  return { method, path: query.size === 0 ? path : `${path}?${query}` };
}

async function send(
  url: string,
  { method, path, body }: ReturnType<typeof httpCall>,
  adminToken: string | undefined,
): Promise<Response> {
  try {
    return await fetch(url + path, {
      method,
      headers: {
        ...(adminToken !== undefined && { authorization: `Bearer ${adminToken}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (cause) {
    throw new GatewayRefused(
      EXIT_FAULT,
      `no gateway answers at ${url}: start it, or name another with --gateway`,
      { cause },
    );
  }
}

type Json = Readonly<Record<string, unknown>>;

/** Undefined if it is no JSON object. */
async function bodyOf(response: Response, url: string): Promise<Json | undefined> {
  const text = await response.text().catch((cause) => {
    throw new GatewayRefused(EXIT_FAULT, `${url} did not finish its answer`, { cause });
  });
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

function refusalOf(status: number, json: Json | undefined, url: string): GatewayRefused {
  const { error, message } = json ?? {};
  if (typeof message !== 'string' || typeof error !== 'string' || NOT_THE_OPS_API.test(message)) {
    return new GatewayRefused(EXIT_FAULT, `${url} is not the ops port of a headgate gateway`);
  }
  const isUsage = status === 400 || status === 404 || error === 'not_possible';
  return new GatewayRefused(isUsage ? EXIT_USAGE : EXIT_FAULT, message);
}

/** Where this machine reaches a gateway that listens there. */
export function urlOf(host: string, port: number): string {
  const name = ALL_INTERFACES[host] ?? host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}
