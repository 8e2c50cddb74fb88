/** The table of proxies. Settings, log lines, metrics, commands and generated docs take their names from here. */
import type { Dialect } from '../core/dialect.ts';
import { apisix } from './apisix.ts';
import { caddy } from './caddy.ts';
import { envoy } from './envoy.ts';
import { envoyGrpc } from './envoy-grpc.ts';
import { haproxy } from './haproxy.ts';
import { ingressNginx } from './ingress-nginx.ts';
import { nginx } from './nginx.ts';
import { traefik } from './traefik.ts';

export { envoyGrpc };

export const HTTP_DIALECTS: readonly Dialect[] = [
  envoy,
  nginx,
  caddy,
  haproxy,
  traefik,
  ingressNginx,
  apisix,
];

export const DIALECTS = [envoyGrpc, ...HTTP_DIALECTS];

export const DIALECT_NAMES: readonly string[] = DIALECTS.map(({ name }) => name);
