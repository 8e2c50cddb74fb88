/** How the tests start each proxy of the table in src/gateway/dialects, with the files of deploy/. */
import { startApisix } from './apisix.ts';
import { startIngressNginx } from './ingress-nginx.ts';
import type { ProgramName, Programs } from './programs.ts';
import {
  type Behind,
  type RunningProxy,
  startCaddy,
  startEnvoy,
  startEnvoyGrpc,
  startHaproxy,
  startNginx,
} from './proxies.ts';
import { startTraefikOrReplay } from './traefik.ts';

export interface ProxyStart {
  /** Of the dialect. */
  readonly name: string;
  /** Undefined if the tests can always start it. */
  readonly program: ProgramName | undefined;
  readonly start: (behind: Behind) => Promise<RunningProxy>;
}

/** Whether the tests can start it here. */
export function isHere({ program }: Pick<ProxyStart, 'program'>, programs: Programs): boolean {
  return program === undefined || programs[program] !== undefined;
}

export const PROXY_STARTS: readonly ProxyStart[] = [
  { name: 'nginx', program: 'nginx', start: startNginx },
  { name: 'envoy', program: 'envoy', start: startEnvoy },
  { name: 'envoy-grpc', program: 'envoy', start: startEnvoyGrpc },
  { name: 'caddy', program: 'caddy', start: startCaddy },
  { name: 'haproxy', program: 'haproxy', start: startHaproxy },
  { name: 'traefik', program: undefined, start: startTraefikOrReplay },
  { name: 'ingress-nginx', program: 'nginx', start: startIngressNginx },
  { name: 'apisix', program: 'nginx-lua', start: startApisix },
];

/** Other files test these, because their clients get less: no headers of an allow, or no 429 without snippets. */
const TESTED_ELSEWHERE = ['traefik', 'ingress-nginx'];

/** Proxies whose clients get the status, headers and body of every answer. */
export const COMPLETE_PROXIES = PROXY_STARTS.filter(({ name }) => !TESTED_ELSEWHERE.includes(name));

export function proxyStart(name: string): ProxyStart {
  const found = PROXY_STARTS.find((each) => each.name === name);
  if (found === undefined) throw new Error(`the tests start no proxy called ${name}`);
  return found;
}
