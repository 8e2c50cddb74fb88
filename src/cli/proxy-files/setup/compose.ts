import { stringify } from 'yaml';
import { parseRedisUrl } from '../../../gateway/config/settings/redis-url.ts';
import { VERSION } from '../../../gateway/config/shipped-files.ts';
import { isThisMachine } from '../../../gateway/core/identity/address.ts';
import { type Answers, POLICY_FILE } from './answers.ts';
import { gatewayPort, gatewaySettings, hasPassword, type Ports } from './gateway-settings.ts';

interface Image {
  readonly image: string;
  readonly folder: string;
  readonly command?: readonly string[];
}

const ENVOY = { image: 'envoyproxy/envoy:v1.36.2', folder: '/etc/envoy' };

const PROXY_IMAGES: Readonly<Record<string, Image>> = {
  nginx: { image: 'nginx:1.28.0-alpine', folder: '/etc/nginx' },
  envoy: { ...ENVOY, command: ['-c', '/etc/envoy/envoy.yaml'] },
  'envoy-grpc': { ...ENVOY, command: ['-c', '/etc/envoy/envoy-grpc.yaml'] },
  caddy: { image: 'caddy:2.11.7-alpine', folder: '/etc/caddy' },
  haproxy: {
    image: 'haproxy:2.6.12-alpine',
    folder: '/usr/local/etc/haproxy',
    command: ['haproxy', '-f', 'haproxy.cfg'],
  },
  traefik: {
    image: 'traefik:v3.7.13',
    folder: '/headgate',
    command: ['traefik', '--configFile=traefik.yaml'],
  },
};

const HEAD = `# The gateway and what belongs to it in containers: docker compose up
#
# The containers use the network of this machine. So the proxy reaches an application on 127.0.0.1, headgate listens on
# loopback only, and the other files work with and without containers. Docker Desktop needs "Enable host networking".
# headgate gets this folder, not the policy file alone: a file that an editor replaces would stay the old one.
`;

/** Without the words that YAML 1.1 reads as booleans, such as a bare `no`. */
const STYLE = { lineWidth: 0, aliasDuplicateObjects: false, version: '1.1' } as const;

export function composeFile(answers: Answers, ports: Ports, proxyFiles: readonly string[]): string {
  const { proxy, redis } = answers;
  const ownRedis = redis === undefined ? undefined : localRedisPort(redis);
  const services = {
    headgate: {
      image: `ghcr.io/headgate/headgate:${VERSION}`,
      ...CONFINED,
      environment: {
        HEADGATE_HOST: '127.0.0.1',
        HEADGATE_POLICIES: `/etc/headgate/${POLICY_FILE}`,
        ...Object.fromEntries(
          gatewaySettings(answers, ports).map(({ name, value }) => [
            name,
            value?.replaceAll('$', '$$$$') ?? `\${${name}:?set it to the URL of your Redis}`,
          ]),
        ),
      },
      volumes: ['.:/etc/headgate:ro'],
      ...(ownRedis !== undefined && { depends_on: ['redis'] }),
    },
    ...(answers.existing ? {} : { proxy: proxyService(proxy, proxyFiles) }),
    ...(ownRedis !== undefined && { redis: redisService(ownRedis) }),
  };
  const gateway = `# The proxy asks headgate on port ${gatewayPort(proxy, ports)}.\n`;
  return `${HEAD}${gateway}${stringify({ services }, STYLE)}`;
}

function proxyService(proxy: string, files: readonly string[]) {
  const { image, folder, command } = PROXY_IMAGES[proxy] as Image;
  return {
    image,
    network_mode: 'host',
    restart: 'unless-stopped',
    ...(command !== undefined && { working_dir: folder, command }),
    volumes: files.map((name) => `./${name}:${folder}/${name}:ro`),
    depends_on: ['headgate'],
  };
}

const CONFINED = {
  network_mode: 'host',
  restart: 'unless-stopped',
  read_only: true,
  cap_drop: ['ALL'],
  security_opt: ['no-new-privileges:true'],
};

function redisService(port: number) {
  return {
    image: 'redis:7.4.9-alpine',
    ...CONFINED,
    user: 'redis',
    // Counters do not need to survive a restart.
    command: [
      ...['redis-server', '--bind', '127.0.0.1', '--port', String(port)],
      ...['--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'],
    ],
    tmpfs: ['/data'],
  };
}

function localRedisPort(url: string): number | undefined {
  const { kind, tls, addresses } = parseRedisUrl(url);
  const [{ host, port }] = addresses;
  return isThisMachine(host) && kind === 'single' && !tls && !hasPassword(url) ? port : undefined;
}
