import type {
  ImportedFile,
  ImportedLimit,
  ImportedMatch,
  ImportedRules,
} from './imported-limit.ts';
import { limitText } from './rates.ts';
import { commentText, scalar } from './texts.ts';

export interface WriteOptions {
  readonly kind: string;
  readonly source: string;
  readonly shadow: boolean;
}

/** For requests that the source does not limit. The limit has no effect with `mode: off`. */
const NOT_LIMITED = [
  'default:',
  '  # The source limits no other requests: mode off lets them pass uncounted. To limit them, remove the mode.',
  '  limits: [1000/1h]',
  '  mode: off',
];

export function writePolicyFile(file: ImportedFile, options: WriteOptions): string {
  const { policies, sources = [] } = file;
  const hasKeys = sources.includes('api_key');
  const perOf = ({ per }: ImportedLimit) =>
    per === 'client' || (per === 'ip' && !hasKeys) ? undefined : per;
  const rules = (each: ImportedRules, indent: string) =>
    rulesLines(each, perOf, options).map((line) => `${indent}${line}`);
  return [
    `# Made by headgate import ${options.kind} from ${commentText(options.source)}. Check it: headgate check policies.yaml`,
    'version: 1',
    '',
    ...identityLines(file),
    ...exemptLines(file),
    ...(file.default === undefined ? NOT_LIMITED : ['default:', ...rules(file.default, '  ')]),
    ...(policies.length === 0 ? [] : ['', 'policies:']),
    ...policies.flatMap((policy, i) => [
      ...(i === 0 ? [] : ['']),
      `  - name: ${policy.name}`,
      `    match: ${matchText(policy.match)}`,
      ...rules(policy, '    '),
    ]),
    '',
  ].join('\n');
}

function identityLines({
  sources = [],
  apiKeyHeader,
  trustedProxies = [],
  ipv6Prefix,
}: ImportedFile): string[] {
  const proxies = [...new Set(['loopback', ...trustedProxies])];
  return [
    'identity:',
    `  sources: [${[...sources, 'ip'].join(', ')}]`,
    ...(apiKeyHeader === undefined ? [] : [`  api_key: { header: ${scalar(apiKeyHeader)} }`]),
    '  # The proxies that may say where a request comes from.',
    `  trusted_proxies: [${proxies.map(scalar).join(', ')}]`,
    ...(ipv6Prefix === undefined ? [] : [`  ip: { ipv6_prefix: ${ipv6Prefix} }`]),
    '',
  ];
}

function exemptLines({ exempt = [] }: ImportedFile): string[] {
  if (exempt.length === 0) return [];
  return [
    'exempt:',
    ...exempt.map(
      ({ address, comment }) =>
        `  - { address: ${scalar(address)}, comment: ${JSON.stringify(commentText(comment))} }`,
    ),
    '',
  ];
}

function matchText({ methods, host, path }: ImportedMatch): string {
  const [first = ''] = methods ?? [];
  const parts = [
    ...(methods === undefined
      ? []
      : [`method: ${methods.length === 1 ? first : `[${methods.join(', ')}]`}`]),
    ...(host === undefined ? [] : [`host: ${scalar(host)}`]),
    ...(path === undefined ? [] : [`path: ${scalar(path)}`]),
  ];
  return `{ ${parts.join(', ')} }`;
}

type PerOf = (limit: ImportedLimit) => string | undefined;

function rulesLines(
  { limits, mode, onStoreFailure, comments }: ImportedRules,
  perOf: PerOf,
  { shadow }: WriteOptions,
): string[] {
  const written = shadow && mode === undefined ? 'shadow' : mode;
  return [
    ...comments.map((comment) => `# ${commentText(comment)}`),
    ...(mode === 'off'
      ? ['limits: [1000/1h] # no effect with mode off']
      : limitLines(limits, perOf)),
    ...(written === undefined ? [] : [`mode: ${written}`]),
    ...(onStoreFailure === undefined ? [] : [`on_store_failure: ${onStoreFailure}`]),
  ];
}

function limitLines(limits: readonly ImportedLimit[], perOf: PerOf): string[] {
  const texts = limits.map((limit) => limitText(limit, perOf(limit)));
  if (texts.every((text) => !text.startsWith('{'))) return [`limits: [${texts.join(', ')}]`];
  return ['limits:', ...texts.map((text) => `  - ${text}`)];
}
