/** docs/ops-api.md, made from the operations. */
import type { OperationErrorCode } from '../../src/gateway/operations/operation-error.ts';
import { STATUS_OF } from '../../src/gateway/server/ops/ops-errors.ts';
import { OPS_ROUTES, type OpsRoute } from '../../src/gateway/server/ops/ops-routes.ts';
import { code, fenced, table } from './markdown.ts';

/** The part of JSON Schema that the routes use. */
interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly format?: string;
  readonly default?: unknown;
  readonly description?: string;
}

const HEAD = `# Ops API

Operators and their tools call this API at the ops port of a running gateway (\`HEADGATE_OPS_PORT\`, 9464).
The [commands](commands.md) \`headgate clients\`, \`policies\`, \`overrides\`, \`log\`, \`stats\` and \`explain --gateway\` use the same calls.
\`/openapi.json\` describes the API to programs.

Request bodies and answers are JSON. A call with an unknown field is refused.
A change made at one gateway applies to all gateways on the same Redis within a second. The gateway that received it logs \`operator_action\`. Overrides end by themselves.
`;

const ACCESS = `## Access

If \`HEADGATE_ADMIN_TOKEN\` is set, every call must send the token:

${fenced('sh', `curl -H "Authorization: Bearer $HEADGATE_ADMIN_TOKEN" http://127.0.0.1:9464/v1/overrides`)}
If it is not set, the ops port must listen on a loopback address, and calls must use \`localhost\` or a loopback address as the host. This keeps out web pages that reach the port through another DNS name. Calls of other web pages are refused by their \`Origin\`.

\`/livez\`, \`/readyz\`, \`/metrics\`, \`/openapi.json\` and the files of the page \`/ui\` need no token.

The examples are for a gateway without a token. If yours has one, add the header.
`;

/** The errors of operations. */
const OPERATION_ERRORS: Readonly<Record<OperationErrorCode, string>> = {
  invalid:
    'The call is invalid, or no HTTP. `message` lists every field that is unknown, missing or wrong, and says what is allowed.',
  not_found: 'There is no such policy, key, override, decision or path.',
  not_possible:
    'The policy file, or the kind of client, does not allow this. `message` says why, and what is possible.',
  conflict: 'There are already 1,000 overrides.',
  store_unavailable:
    'Redis did not confirm the change, or no worker answers. `message` says whether the change may have been made.',
  internal_error: 'A fault of headgate. Its log has `operation_failed`.',
};
const ERRORS: readonly (readonly [number, string, string])[] = [
  ...Object.entries(OPERATION_ERRORS).map(
    ([error, when]) => [STATUS_OF[error as OperationErrorCode], error, when] as const,
  ),
  [401, 'unauthorized', 'The token is missing or wrong.'],
  [403, 'forbidden', 'No token is set, and the call does not come from this machine.'],
  [
    405,
    'method_not_allowed',
    'The path does not have this method. `Allow` lists those that it has.',
  ],
  [408, 'invalid', 'The request took longer than 5 seconds to arrive.'],
  [413, 'invalid', 'The body is longer than 256 KiB.'],
  [415, 'invalid', 'The `Content-Type` of the body is not `application/json`.'],
  [417, 'invalid', 'The request has an `Expect` header other than `100-continue`.'],
  [431, 'invalid', 'The request line and headers are longer than 16 KiB.'],
];

/** Values for the fields of the examples. */
const EXAMPLES: Readonly<Record<string, unknown>> = {
  client: '203.0.113.9',
  policy: 'login',
  mode: 'shadow',
  for: '30min',
  reason: 'a bad release',
  by: 'alice',
  level: 'debug',
  id: '97a8074ad655-1',
};
const EXTRAS: Readonly<Partial<Record<OpsRoute['operation'], Readonly<Record<string, unknown>>>>> =
  {
    explain: { method: 'POST', url: '/api/auth/login', client: '203.0.113.9' },
    setLog: { level: 'debug' },
    reset: { policy: 'login' },
    addKey: { id: 'acme', plan: 'pro', expires: '90d' },
    changeKeys: { id: 'acme', plan: 'enterprise' },
    rotateKey: { id: 'acme', overlap: '7d' },
    revokeKeys: { id: 'acme', sha256: '3fa4c1d20b77' },
    importKeys: {
      keys: [
        {
          id: 'acme',
          sha256: '0c28d6922e5b43cf27398eb37d4a94d6664956b895ad43bc1e0574966620e566',
          plan: 'pro',
        },
      ],
    },
  };

/** Throws if a field has no description. */
export function opsApiReference(): string {
  return [
    HEAD,
    table(
      ['method', 'path', 'operation'],
      OPS_ROUTES.map(({ method, url, summary }) => [
        code(method),
        `[${code(pathOf(url))}](#${anchorOf(method, url)})`,
        summary,
      ]),
    ),
    ACCESS,
    '## Errors\n\nAn error is `{ "error": WORD, "message": TEXT }`. Programs can rely on the word.\n',
    table(
      ['status', '`error`', 'when'],
      [...ERRORS]
        .sort(([a], [b]) => a - b)
        .map(([status, error, when]) => [String(status), code(error), when]),
    ),
    ...OPS_ROUTES.map(sectionOf),
  ].join('\n');
}

function sectionOf(route: OpsRoute): string {
  const { method, url, summary, schemas } = route;
  const { params, query, body, answer } = schemas();
  const rows = [...rowsOf('path', params), ...rowsOf('query', query), ...rowsOf('body', body)];
  const columns = ['field', 'in', 'values', 'required', 'meaning'];
  return [
    `## ${method} ${pathOf(url)}\n`,
    `${summary}.\n`,
    ...(rows.length === 0 ? [] : [table(columns, rows)]),
    fenced('sh', exampleOf(route)),
    `Answers ${outlineOf(answer)}\n`,
  ].join('\n');
}

function rowsOf(place: string, given: object | undefined): string[][] {
  const { properties = {}, required = [] } = (given ?? {}) as Schema;
  return Object.entries(properties).map(([name, schema]) => [
    code(name),
    place,
    valuesOf(schema),
    required.includes(name) ? 'yes' : '',
    meaningOf(name, schema),
  ]);
}

function meaningOf(name: string, { description }: Schema): string {
  if (description === undefined) throw new Error(`describe the field ${name} in its schema`);
  return description;
}

function valuesOf(schema: Schema): string {
  const { type, enum: words, minimum, maximum, maxLength, additionalProperties } = schema;
  const otherwise =
    schema.default === undefined ? '' : `, default ${code(JSON.stringify(schema.default))}`;
  if (schema.anyOf !== undefined) return schema.anyOf.map(valuesOf).join(' or ');
  if (words !== undefined) return words.map(code).join(', ');
  if (type === 'integer' && maximum !== undefined) return `${minimum} to ${maximum}${otherwise}`;
  if (type === 'string' && maxLength !== undefined) return `text, at most ${maxLength} characters`;
  if (type === 'string') return `text${otherwise}`;
  if (type === 'object' && typeof additionalProperties === 'object') return `a map${otherwise}`;
  if (type === undefined) throw new Error('a field without a type');
  return type + otherwise;
}

/** The fields of an answer, with their own fields in brackets. An optional field has a question mark. */
function outlineOf(given: object): string {
  const { properties = {}, required = [] } = fieldsOf(given as Schema);
  const fields = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? '' : '?';
    const inner = fieldsOf(schema.items ?? schema);
    const list = schema.type === 'array' ? ', a list' : '';
    if (inner.properties === undefined) return code(name + mark) + list;
    return `${code(name + mark)}${list} (${outlineOf(inner).replace(/\.$/, '')})`;
  });
  return fields.length === 0 ? '`{}`.' : `${fields.join(', ')}.`;
}

/** The fields of all variants together; those that every variant has are required. */
function fieldsOf(schema: Schema): Schema {
  const { oneOf: variants } = schema;
  if (variants === undefined) return schema;
  const names = variants.map(({ properties = {} }) => Object.keys(properties));
  const shared = (names[0] ?? []).filter((name) => names.every((each) => each.includes(name)));
  const [first = '', ...last] = shared;
  const order = [first, ...names.flat().filter((name) => !shared.includes(name)), ...last];
  const properties = Object.assign({}, ...variants.map((variant) => variant.properties));
  return {
    properties: Object.fromEntries(order.map((name) => [name, properties[name]])),
    required: shared,
  };
}

function exampleOf({ method, url, operation, schemas }: OpsRoute): string {
  const { params, query, body } = schemas();
  const fields = { ...required(body), ...(body && EXTRAS[operation]) };
  const path = Object.entries(required(params)).reduce(
    (text, [name, value]) => text.replace(`:${name}`, String(value)),
    url,
  );
  const asked = query !== undefined && method === 'DELETE' ? '?by=alice' : '';
  const parts = [
    ...(method === 'GET' || (method === 'POST' && body) ? [] : [`-X ${method}`]),
    `'http://127.0.0.1:9464${path}${asked}'`,
    ...(body === undefined
      ? []
      : [`-H 'content-type: application/json'`, `-d '${JSON.stringify(fields)}'`]),
  ];
  return `curl ${parts.join(' \\\n  ')}`;
}

function required(given: object | undefined): Record<string, unknown> {
  const { required: names = [] } = (given ?? {}) as Schema;
  return Object.fromEntries(names.map((name) => [name, EXAMPLES[name]]));
}

function pathOf(url: string): string {
  return url.replaceAll(/:(\w+)/g, '{$1}');
}

/** The anchor that GitHub makes from a heading. */
function anchorOf(method: string, url: string): string {
  return `${method} ${pathOf(url)}`
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}
