/**
 * Writes the configuration file of a proxy from the policy file and the settings. The files in deploy/ are the templates:
 * only marked regions and two addresses change. For the shipped policy file nothing changes.
 */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import type { ValidFile } from '../../../gateway/config/policy-file/valid-file.ts';
import { type Address, isHere } from '../proxy-address.ts';
import { clientHeadersOf, metadataOf, settlingPolicies } from './client-headers.ts';
import { failureRulesOf } from './gateway-failure.ts';
import { caddy } from './print-caddy.ts';
import { envoy, envoyGrpc } from './print-envoy.ts';
import { haproxy } from './print-haproxy.ts';
import { nginx } from './print-nginx.ts';
import { traefik } from './print-traefik.ts';
import { fillRegions, partsFor, partsOf, regionLines } from './regions.ts';
import type { ShippedAddress, Writer } from './writer.ts';

export interface ProxyConfigInput {
  readonly proxy: string;
  readonly policies: ValidFile;
  readonly gateway: Address | undefined;
  readonly application: Address | undefined;
  readonly sendsSecret: boolean;
  /** The proxy sends checks to itself there. The port of the shipped file is the default. */
  readonly ownPort?: number | undefined;
  /** Where clients connect to the proxy. The port of the shipped file is the default. */
  readonly port?: number | undefined;
  /** True prints only the parts for an existing configuration, and a text those for a place or the file of this name. */
  readonly include: boolean | string;
}

/** Throws a RangeError if the proxy cannot use an address or a port, or has no part for the place. */
export function proxyConfig(input: ProxyConfigInput) {
  const { proxy, policies, sendsSecret } = input;
  const writer = writerOf(proxy);
  const besides = (writer.besides ?? []).map((path) => ({ name: posix.basename(path), path }));
  const other = besides.find(({ name }) => name === input.include);
  if (other !== undefined) return { text: templateText(other.path, input), besides: [] };
  if (input.port !== undefined && input.include !== false)
    throw new RangeError('the parts name no port for clients: leave out --listen');
  const headers = clientHeadersOf(policies);
  const failure = failureRulesOf(policies);
  const passesToken = input.include === false || settlingPolicies(policies).length > 0;
  const metadata = metadataOf(policies);
  const regions = writer.regions({ headers, metadata, failure, sendsSecret, passesToken });
  let text = fillRegions(templateText(writer.file, input), regions);
  text = withAddress(text, writer.gateway, input.gateway);
  text = withAddress(text, writer.application, input.application);
  return {
    text: partsWanted(text, input.include, writer),
    besides: typeof input.include === 'string' ? [] : besides.map(({ name }) => name),
  };
}

/** A file of deploy/ with the ports of the proxy: for clients, and for checks that it sends to itself. Throws a RangeError. */
export function templateText(
  path: string,
  { proxy, gateway, application, port, ...input }: Omit<ProxyConfigInput, 'include'>,
): string {
  const text = readFileSync(new URL(`../../../../deploy/${path}`, import.meta.url), 'utf8');
  const { listener, ownPort: shipped } = writerOf(proxy);
  const { ownPort = shipped } = input;
  if (ownPort !== undefined && shipped === undefined)
    throw new RangeError('this proxy sends no checks to itself, so it needs no --own-port');
  if (ownPort !== undefined && ownPort === port)
    throw new RangeError(`clients connect to port ${port}: choose another --own-port`);
  for (const [name, address] of Object.entries({ headgate: gateway, application })) {
    if (address === undefined || !isHere(address)) continue;
    for (const [option, own] of Object.entries({ '--own-port': ownPort, '--listen': port }))
      if (address.port === own)
        throw new RangeError(`${name} has port ${own}: choose another ${option}`);
  }
  const listening = listener.replace(`${SHIPPED_PORT}`, `${port ?? SHIPPED_PORT}`);
  // The new port of one may be the shipped port of the other.
  const between = text.split(listener);
  if (shipped === undefined) return between.join(listening);
  return between.map((each) => each.replaceAll(`:${shipped}`, `:${ownPort}`)).join(listening);
}

function partsWanted(text: string, include: boolean | string, { includes = [] }: Writer): string {
  if (include === false) return text;
  if (include === true) return partsOf(text);
  const places = includes.map(({ place }) => place);
  return partsFor(include, text, places);
}

const FAILURE_REGION = 'refused without the gateway';

/** Returns undefined if the proxy lacks the region with the routes that it has to refuse without a gateway. */
export function isSameFailureRegion(
  proxy: string,
  { text, entries }: { readonly text: string; readonly entries?: readonly unknown[] | undefined },
  policies: ValidFile,
): boolean | undefined {
  const headers = clientHeadersOf(policies);
  const failure = failureRulesOf(policies);
  const fixed = { metadata: [], sendsSecret: false, passesToken: false };
  const regions = writerOf(proxy).regions({ headers, failure, ...fixed });
  const wanted = regions[FAILURE_REGION]?.([]) ?? [];
  if (entries !== undefined) return isDeepStrictEqual(entries, parse(wanted.join('\n')));
  const lines = regionLines(text, FAILURE_REGION);
  if (lines === undefined) return failure === undefined ? true : undefined;
  return lines.join('\n') === wanted.map((line) => line.trim()).join('\n');
}

/** Leaves comments as they are. */
function withAddress(
  text: string,
  { shipped, write }: ShippedAddress,
  wanted: Address | undefined,
): string {
  if (wanted === undefined) return text;
  const written = write(wanted);
  if (written === undefined) throw new RangeError('this proxy needs a host and a port');
  if (!text.includes(shipped)) throw new Error(`the file must have "${shipped}"`);
  return text.replaceAll(/^(?!\s*#).*$/gm, (line) => line.replaceAll(shipped, written));
}

const WRITERS: Readonly<Record<string, Writer>> = {
  nginx,
  envoy,
  'envoy-grpc': envoyGrpc,
  caddy,
  haproxy,
  traefik,
};

export const SHIPPED_PORT = 8000;

/** Names of the proxies. A test compares them with the table in src/gateway/dialects. */
export const PROXIES: readonly string[] = Object.keys(WRITERS);

export function usesGrpc(proxy: string): boolean {
  return writerOf(proxy).grpc === true;
}

/** Throws a RangeError for an unknown name. */
export function writerOf(proxy: string): Writer {
  const writer = WRITERS[proxy];
  if (writer === undefined) throw new RangeError(`must be one of ${PROXIES.join(', ')}`);
  return writer;
}
