/** Writes the policy file part of docs/configuration.md, map by map, from the JSON Schema. */
import { readFileSync } from 'node:fs';
import { policyFileJsonSchema } from '../../src/gateway/config/policy-file/policy-file-schema.ts';
import { code, fenced, prose, table } from './markdown.ts';

/** The part of JSON Schema that our schema uses. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly propertyNames?: Schema;
  readonly additionalProperties?: Schema | false;
}

/** A map of named keys, and every path of the file where it is allowed. */
interface NamedKeys {
  readonly places: readonly [string, ...string[]];
  readonly schema: Schema;
}

interface Introduction {
  readonly text: string;
  readonly example: string;
}

/** A top-level key of the shipped policy file, with the lines below it up to the next empty line. */
function shipped(key: string): string {
  const text = readFileSync(new URL('../../config/policies.yaml', import.meta.url), 'utf8');
  const start = text.indexOf(`\n${key}:`) + 1;
  const end = text.indexOf('\n\n', start);
  if (start === 0 || end === -1) throw new Error(`config/policies.yaml must have ${key}`);
  return text.slice(start, end);
}

/** Keyed by the first path of each map. */
const INTRODUCTIONS: Readonly<Record<string, Introduction>> = {
  '': {
    text: 'Only two keys are required.',
    example: `version: 1\n${shipped('default')}`,
  },
  identity: {
    text: 'How headgate tells clients apart. Without this section it uses the first of these: `X-Api-Key`, the address that Cloudflare reports, the address that your proxy reports.',
    example: shipped('identity'),
  },
  'identity.sources[]': {
    text: 'A header that holds the client address, in place of a name in `identity.sources`. headgate believes it only if one of the networks in `from` sent it.',
    example: `identity:
  sources:
    - api_key
    - { header: fastly-client-ip, from: [151.101.0.0/16, 199.232.0.0/16] }
    - { header: true-client-ip, from: proxy }
    - ip
`,
  },
  'identity.api_key': {
    text: 'An unlisted key counts for itself and for its address. All unlisted keys of an address together get `unverified_factor` times its limit.',
    example: `identity:
  api_key:
    header: authorization
    unverified_factor: 3
`,
  },
  'identity.api_key.keys[]': {
    text: '`headgate key new --id acme --plan pro` creates a key and prints its entry. In place of the list you can name a key file, which holds such a list; or write `redis` for keys that `headgate keys add` keeps in Redis, or `[redis, keys.yaml]` for both: then the file wins.',
    example: `identity:
  api_key:
    keys:
      - { id: acme, plan: pro, sha256: 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae }
default:
  limits: [1000/1h]
  plans: { pro: [20000/1h] }
`,
  },
  'identity.user': {
    text: 'Used by `user` in `identity.sources`, and by limits `per: user`. Over gRPC, Envoy can send what one of its filters has verified, such as the claims of a token: `{ metadata: envoy.filters.http.jwt_authn, claim: [payload, sub] }`. The value is a text or a whole number, or a list of one; anything else is no user.',
    example: `identity:
  sources: [user, ip]
  user: { header: x-authenticated-user }
`,
  },
  'identity.plan': {
    text: 'The plan of a client, named by a trusted proxy: by a header that it sets, or over gRPC by metadata, as in `identity.user`. It counts for clients whose key is listed, for users, and for values of verified headers, never for an address or an unlisted key alone. The plan of a listed key comes first. A plan that no policy has gives the limits without a plan; `headgate_plan_total{plan="unknown"}` counts these requests.',
    example: `identity:
  sources: [user, ip]
  user: { header: x-user }
  plan: { header: x-plan }
  verified_headers: [x-plan]
`,
  },
  'identity.ip': {
    text: 'A household or a server has a whole network of IPv6 addresses, so headgate counts IPv6 networks. It counts each IPv4 address by itself.',
    example: `identity:
  ip:
    ipv6_prefixes: { 64: 1x, 56: 4x, 48: 16x }
`,
  },
  matching: {
    text: 'headgate always compares paths in canonical form: `//api/%61uth` is `/api/auth`.',
    example: `matching:
  case_sensitive: true
`,
  },
  answers: {
    text: '[The form of headers and bodies](policy-file.md#the-form-of-answers). Nothing here changes which requests are denied.',
    example: `answers:
  reset: delta
  retry_after_jitter_seconds: 10
  body: problem+json
  text: 'Too many requests. Come back in {seconds} seconds, or write to us about {id}.'
  page: denied.html
`,
  },
  'answers.cors': {
    text: 'A page of another origin may read an answer only if its headers say so. headgate says it on denials alone. [Web pages of other origins](policy-file.md#web-pages-of-other-origins) has the details.',
    example: `answers:
  cors:
    origins: [https://app.example.com, "http://localhost:5173"]
`,
  },
  'default.answers': {
    text: 'A policy can answer in another form than the file says. It is for requests whose most specific policy it is, whichever policy denies them.',
    example: `policies:
  - name: completions
    match: { method: POST, path: /v1/* }
    limits: [600/1min]
    answers: { body: openai, headers: openai }
`,
  },
  'policies[].match.mcp': {
    text: 'A path with such policies needs one for `method: none`. Of several policies, an exact method comes first, then an exact name, then the longest beginning.',
    example: `policies:
  - name: search-tool
    match: { path: /mcp, mcp: { method: tools/call, name: search_* } }
    limits: [20/1min, { rate: 200/1h, per: api_key }]
  - name: other-calls
    match: { path: /mcp, mcp: { method: none } }
    limits: [20/1min]
`,
  },
  'exempt[]': {
    text: 'An address range is short for a map with this `address`. Each map has either an `address` or a `key`.',
    example: `exempt:
  - { address: 198.51.100.7, comment: the load test, expires: 2027-01-31 }
block:
  - 203.0.113.0/24
`,
  },
  default: {
    text: 'Required, so that no request is left without a limit by mistake.',
    example: shipped('default'),
  },
  'default.limits[]': {
    text: 'A rate is short for a map with this `rate`. [How a limit counts](policy-file.md#how-a-limit-counts) compares the algorithms.',
    example: `default:
  limits:
    - 1000/1h
    - { rate: 5000/1h, per: ip }
    - { rate: 600/1min, algorithm: token-bucket, burst: 20 }
    - { rate: 10000/month, zone: Europe/Zurich }
`,
  },
  'default.limits[].reserve': {
    text: 'Where the number of units comes from, in place of the number itself. headgate believes only trusted proxies. A missing, bad or doubled value reserves `unknown`.',
    example: `policies:
  - name: completions
    match: { method: POST, path: /v1/chat/completions }
    limits:
      - rate: 100000/1h
        per: api_key
        algorithm: sliding-window-counter
        unit: tokens
        reserve: { metadata: envoy.ai.request_info }
        unknown: 8000
`,
  },
  'default.limits[].refund': {
    text: 'At least one of these keys is required. Requests that are refunded cost nothing, so the policy needs a second limit without `refund`.',
    example: `policies:
  - name: login
    match: { method: POST, path: /api/auth/login }
    limits:
      - { rate: 5/5min, refund: { header: { x-login: ok } } }
      - 100/1h
`,
  },
  'policies[]': {
    text: 'If several policies match a request, the most specific one applies: by path (static, then `:name`, then `*`), then by host, then by method. Two policies that could tie are a mistake. Policies with `always` apply in addition.',
    example: shipped('policies'),
  },
  'policies[].match': {
    text: 'At least one of these keys is required.',
    example: `policies:
  - name: login
    match: { method: POST, host: api.example.com, path: /api/auth/login }
    limits: [5/5min]
  - name: users
    match: { method: [GET, HEAD], path: /users/:id/* }
    limits: [100/1min]
`,
  },
};

/** Throws if a map has no introduction. */
export function policyReference(): string {
  const maps = mapsOf(JSON.parse(policyFileJsonSchema()));
  return maps.map((map) => sectionOf(map, maps)).join('\n');
}

/** Each kind of map once, the outermost first. */
function mapsOf(file: Schema): NamedKeys[] {
  const found = new Map<string, NamedKeys>();
  const visit = (schema: Schema, place: string) => {
    const { properties, items, anyOf = [], additionalProperties } = schema;
    if (properties !== undefined) {
      const shape = JSON.stringify(properties);
      const places = found.get(shape)?.places ?? [];
      const [first = place, ...others] = [...places, place];
      found.set(shape, { places: [first, ...others], schema });
      for (const [key, each] of Object.entries(properties)) visit(each, pathTo(place, key));
    }
    if (items !== undefined) visit(items, `${place}[]`);
    if (additionalProperties) visit(additionalProperties, `${place}.<name>`);
    for (const each of anyOf) visit(each, place);
  };
  visit(file, '');
  return [...found.values()];
}

function pathTo(place: string, key: string): string {
  return place === '' ? key : `${place}.${key}`;
}

function sectionOf({ places, schema }: NamedKeys, maps: readonly NamedKeys[]): string {
  const [place, ...others] = places;
  const introduction = INTRODUCTIONS[place];
  if (introduction === undefined)
    throw new Error(`add an introduction of ${place} to ${import.meta.filename}`);
  const rows = Object.entries(schema.properties ?? {}).map(([key, each]) => {
    const { meaning, fallback } = explained(each);
    const isRequired = schema.required?.includes(key);
    return [
      code(pathTo(place, key)),
      formOf(each, maps),
      isRequired ? '**required**' : fallback,
      meaning,
    ];
  });
  const same =
    others.length === 0 ? '' : ` The same keys are valid in ${others.map(code).join(', ')}.`;
  return [
    `### ${place === '' ? 'The whole file' : code(place)}\n`,
    `${introduction.text}${same}\n`,
    table(['key', 'value', 'default', 'meaning'], rows),
    fenced('yaml', introduction.example),
  ].join('\n');
}

/** The description ends with the default if the schema cannot have one. */
function explained({ description, default: value, type }: Schema) {
  if (description === undefined) throw new Error('describe each key of the policy file');
  const [, text = description, words = ''] = /^(.*) Default: (.*)\.$/.exec(description) ?? [];
  const isMap = type === 'object';
  return {
    meaning: prose(text),
    fallback: value === undefined || isMap ? inWords(words) : code(asYaml(value)),
  };
}

function inWords(text: string): string {
  return /^\d+$/.test(text) ? code(text) : prose(text);
}

function asYaml(value: unknown): string {
  return Array.isArray(value) ? `[${value.join(', ')}]` : String(value);
}

function formOf(schema: Schema, maps: readonly NamedKeys[]): string {
  const { type, title, items, anyOf, properties, additionalProperties } = schema;
  if (schema.const !== undefined) return code(String(schema.const));
  if (schema.enum !== undefined) return schema.enum.map(code).join(', ');
  if (anyOf !== undefined) return anyOf.map((each) => formOf(each, maps)).join(', or ');
  if (items !== undefined) return `list${countOf(schema)}: ${formOf(items, maps)}`;
  if (properties !== undefined) return `[map](#${anchorOf(schema, maps)})`;
  if (additionalProperties)
    return `map from ${formOf(schema.propertyNames ?? {}, maps)} to ${formOf(additionalProperties, maps)}`;
  if (type === 'boolean') return '`true`, `false`';
  if (type === 'integer') return `${schema.minimum} to ${schema.maximum}`;
  const literal = /^\^([a-z]+)\$$/.exec(schema.pattern ?? '')?.[1];
  if (literal !== undefined) return code(literal);
  const examples = schema.examples?.map(code).join(', ');
  return `${title ?? textOf(schema)}${examples === undefined ? '' : ` such as ${examples}`}`;
}

function countOf({ minItems, maxItems }: Schema): string {
  if (maxItems !== undefined) return ` of ${minItems} to ${maxItems}`;
  return minItems === undefined ? '' : ` of ${minItems} or more`;
}

function textOf({ minLength = 0, maxLength }: Schema): string {
  if (maxLength === undefined) return 'text';
  return `text of ${minLength} to ${maxLength} characters`.replace(' 0 to', ' up to');
}

/** GitHub's, of the heading. */
function anchorOf({ properties }: Schema, maps: readonly NamedKeys[]): string {
  const shape = JSON.stringify(properties);
  const map = maps.find(({ schema }) => JSON.stringify(schema.properties) === shape);
  return map?.places[0].replaceAll(/[^a-z_]/g, '') ?? '';
}
