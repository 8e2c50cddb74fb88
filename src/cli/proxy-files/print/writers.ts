/** The proxies, and how the file of each is written. */
import { fileURLToPath } from 'node:url';
import { caddy } from './print-caddy.ts';
import { envoy, envoyGrpc } from './print-envoy.ts';
import { haproxy } from './print-haproxy.ts';
import { nginx } from './print-nginx.ts';
import { traefik } from './print-traefik.ts';
import type { Writer } from './writer.ts';

const WRITERS: Readonly<Record<string, Writer>> = {
  nginx,
  envoy,
  'envoy-grpc': envoyGrpc,
  caddy,
  haproxy,
  traefik,
};

/** Names of the proxies. A test compares them with the table in src/gateway/dialects. */
export const PROXIES: readonly string[] = Object.keys(WRITERS);

export function asksOverGrpc(proxy: string): boolean {
  return writerOf(proxy).grpc === true;
}

/** Throws a RangeError for an unknown name. */
export function writerOf(proxy: string): Writer {
  const writer = WRITERS[proxy];
  if (writer === undefined) throw new RangeError(`must be one of ${PROXIES.join(', ')}`);
  return writer;
}

export function templatePath(file: string): string {
  return fileURLToPath(new URL(`../../../../deploy/${file}`, import.meta.url));
}
