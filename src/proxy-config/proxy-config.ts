/**
 * Writes the configuration file of a proxy from the policy file and the settings. The files in deploy/ are the templates:
 * only marked regions and two addresses change. For the shipped policy file nothing changes.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ValidFile } from '../config/policy-file/compile.ts';
import { caddy } from './caddy.ts';
import { clientHeadersOf } from './client-headers.ts';
import { envoy } from './envoy.ts';
import { envoyGrpc } from './envoy-grpc.ts';
import { failureRulesOf } from './gateway-failure.ts';
import { haproxy } from './haproxy.ts';
import { nginx } from './nginx.ts';
import { partsOf } from './parts.ts';
import { fillRegions, replaceAddress } from './regions.ts';
import { traefik } from './traefik.ts';
import type { Address, ShippedAddress, Writer } from './writer.ts';

export type { Address } from './writer.ts';

const WRITERS: Readonly<Record<string, Writer>> = {
  nginx,
  envoy,
  'envoy-grpc': envoyGrpc,
  caddy,
  haproxy,
  traefik,
};

/** Names of the proxies. A test compares them with the table in src/dialects. */
export const PROXIES: readonly string[] = Object.keys(WRITERS);

export interface ProxyConfigInput {
  /** One of PROXIES. */
  readonly proxy: string;
  readonly policies: ValidFile;
  /** Undefined: the address of the shipped file. */
  readonly gateway: Address | undefined;
  readonly application: Address | undefined;
  readonly sendsSecret: boolean;
  /** Only the parts that an existing configuration needs. */
  readonly include: boolean;
}

export interface ProxyConfig {
  readonly text: string;
  /** Paths of other shipped files that must be in the same folder. */
  readonly besides: readonly string[];
}

/** Whether the proxy sends checks over gRPC, to another port. */
export function asksOverGrpc(proxy: string): boolean {
  return writerOf(proxy).grpc === true;
}

/** Throws a RangeError if the proxy cannot use an address. */
export function proxyConfig(input: ProxyConfigInput): ProxyConfig {
  const { proxy, policies, sendsSecret } = input;
  const writer = writerOf(proxy);
  const headers = clientHeadersOf(policies);
  const regions = writer.regions({ headers, failure: failureRulesOf(policies), sendsSecret });
  let text = fillRegions(readFileSync(pathOf(writer.file), 'utf8'), regions);
  text = withAddress(text, writer.gateway, input.gateway);
  text = withAddress(text, writer.application, input.application);
  return {
    text: input.include ? partsOf(text) : text,
    besides: writer.besides.map(pathOf),
  };
}

function withAddress(
  text: string,
  { shipped, write }: ShippedAddress,
  wanted: Address | undefined,
): string {
  if (wanted === undefined) return text;
  const written = write(wanted);
  if (written === undefined) throw new RangeError('this proxy needs a host and a port');
  return replaceAddress(text, shipped, written);
}

function writerOf(proxy: string): Writer {
  const writer = WRITERS[proxy];
  if (writer === undefined) throw new RangeError(`must be one of ${PROXIES.join(', ')}`);
  return writer;
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(`../../deploy/${file}`, import.meta.url));
}
