/** The rows of docs/versions.md: what the tests run, and which tests. */
import { versionOf } from '../../support/program-version.ts';
import { isPinned, NODE_VERSIONS, type ProgramName } from '../../support/programs.ts';
import { PROXY_ROWS } from '../../support/proxy-starts.ts';

interface Tested {
  readonly name: string;
  readonly programs: readonly ProgramName[];
  /** In place of the versions of programs. */
  readonly version?: string;
  readonly tests: string;
}

const replayed = (proxy: string) => PROXY_ROWS.find((row) => row.proxy === proxy)?.version ?? '';

export const TESTED: readonly Tested[] = [
  {
    name: 'Redis',
    programs: ['redis-oldest', 'redis-server', 'redis-newest'],
    tests:
      'all tests of the store with each; everything else, also Sentinel and Cluster, with the second',
  },
  {
    name: 'Valkey',
    programs: ['valkey'],
    tests: 'all tests of the store',
  },
  {
    name: 'Node',
    programs: [],
    version: [
      NODE_VERSIONS['node-oldest'],
      process.versions.node,
      NODE_VERSIONS['node-newest'],
    ].join(', '),
    tests: 'the npm package with each: demo, gateway, check; everything else with the second',
  },
  { name: 'NGINX', programs: ['nginx'], tests: 'the shipped file, in all tests of proxies' },
  { name: 'Envoy', programs: ['envoy-oldest', 'envoy'], tests: 'the shipped files, HTTP and gRPC' },
  { name: 'Caddy', programs: ['caddy', 'caddy-newest'], tests: 'the shipped file' },
  { name: 'HAProxy', programs: ['haproxy'], tests: 'the shipped files' },
  {
    name: 'Traefik',
    programs: [],
    version: replayed('Traefik'),
    tests: 'the shipped files, by Traefik where it is installed, else by a replay of what it sends',
  },
  {
    name: 'APISIX',
    programs: [],
    version: replayed('APISIX'),
    tests: 'the shipped files, in NGINX with Lua and a replay of its plugins',
  },
  { name: 'Helm', programs: ['helm'], tests: 'the chart: lint, and templates of six value files' },
  { name: 'Kustomize, of kubectl', programs: ['kubectl'], tests: 'the base and each overlay' },
  { name: 'Prometheus', programs: ['prometheus'], tests: 'alerts, recording rules, dashboards' },
  { name: 'Chromium', programs: ['chromium'], tests: 'the page of the ops server' },
];

/** A version that the tests did not choose depends on the machine: undefined. */
export function versionsOf({ programs, version }: Tested, isWriting: boolean): string | undefined {
  if (version !== undefined) return version;
  if (!isWriting && !programs.every(isPinned)) return undefined;
  return programs.map(versionOf).join(', ');
}
