/** docs/ops-api.md, made from the routes and their schemas. */
import type { OperationErrorCode } from '../../src/operations/operation-error.ts';
import { STATUS_OF } from '../../src/server/ops-api.ts';
import { OPS_ROUTES, type OpsRoute } from '../../src/server/ops-routes.ts';
import { code, fenced, table } from './markdown.ts';

/** Of JSON Schema, what those of the routes use. */
interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
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

What operators and their tools can ask of a running gateway, or have it do, at its ops port (\`HEADGATE_OPS_PORT\`, 9464).
The [commands](commands.md) \`headgate clients\`, \`policies\`, \`overrides\`, \`log\`, \`stats\` and \`explain --gateway\` are made of the same calls.
\`/openapi.json\` describes them to programs.

Bodies and answers are JSON. A field that is not known is refused, never left out.
Whatever one gateway is told holds in all that count in the same Redis within a second, and is in the log of the one that was told: \`operator_action\`. Overrides end by themselves.
`;

const ACCESS = `## Access

With \`HEADGATE_ADMIN_TOKEN\`, every call shows the token:

${fenced('sh', `curl -H "Authorization: Bearer $HEADGATE_ADMIN_TOKEN" http://127.0.0.1:9464/v1/overrides`)}
Without one, the port must be on a loopback, and calls must name it as \`localhost\` or by a loopback address: a page in a browser that another name leads here is refused.

Whoever can reach the port may ask for \`/livez\`, \`/readyz\`, \`/metrics\` and \`/openapi.json\`: these need no token.

The examples are for a gateway without a token; with one, add the header.
`;

/** What the codes of operations mean, and those of what comes before an operation. */
const OF_OPERATIONS: Readonly<Record<OperationErrorCode, string>> = {
  invalid:
    'The call is malformed: `message` names each field that is unknown, missing or wrong, and says what would be right.',
  not_found: 'There is no such policy, key, override, decision or path.',
  conflict: 'There are 1,000 overrides already.',
  store_unavailable:
    'Redis did not confirm it, and `message` says whether the change may have been made all the same; or no worker answers.',
  internal_error: 'A fault of headgate: its log has `operation_failed`.',
};
const ERRORS: readonly (readonly [number, string, string])[] = [
  ...Object.entries(OF_OPERATIONS).map(
    ([error, when]) => [STATUS_OF[error as OperationErrorCode], error, when] as const,
  ),
  [401, 'unauthorized', 'The token is missing or wrong.'],
  [403, 'forbidden', 'No token is set, and the call does not name this machine.'],
  [413, 'invalid', 'The body is longer than 64 KiB.'],
  [415, 'invalid', 'The body is not said to be `application/json`.'],
];

/** A value for each field that an example cannot do without, or is clearer with. */
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
  };

/** What the schema leaves to its name. */
const MEANINGS: Readonly<Record<string, string>> = {
  policy: 'The name of the policy.',
  mode: 'The mode that it is to be in.',
  level: 'Lines of at least this are written.',
  limit: 'Clients that are told at most.',
  id: 'The id of the decision: its client was told in `X-RateLimit-Decision-Id`, and the log has it.',
  method: 'Of the request.',
};

/** Throws when there is a field that nothing is said of. */
export function opsApiReference(): string {
  return [
    HEAD,
    table(
      ['call', 'path', 'does'],
      OPS_ROUTES.map(({ method, url, summary }) => [
        code(method),
        `[${code(pathOf(url))}](#${anchorOf(method, url)})`,
        summary,
      ]),
    ),
    ACCESS,
    '## Errors\n\nAn error is `{ "error": WORD, "message": TEXT }`: the word is for programs.\n',
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
  const { method, url, summary, params, query, body, answer } = route;
  const rows = [...rowsOf('path', params), ...rowsOf('query', query), ...rowsOf('body', body)];
  const columns = ['field', 'in', 'takes', 'required', 'is'];
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

function meaningOf(name: string, { description = MEANINGS[name] }: Schema): string {
  if (description === undefined) throw new Error(`say in ${import.meta.filename} what ${name} is`);
  return description;
}

function valuesOf(schema: Schema): string {
  const { type, enum: words, minimum, maximum, maxLength, additionalProperties } = schema;
  const otherwise =
    schema.default === undefined ? '' : `, otherwise ${code(JSON.stringify(schema.default))}`;
  if (words !== undefined) return words.map(code).join(', ');
  if (type === 'integer' && maximum !== undefined) return `${minimum} to ${maximum}${otherwise}`;
  if (type === 'string' && maxLength !== undefined) return `text, ${maxLength} characters at most`;
  if (type === 'string') return `text${otherwise}`;
  if (type === 'object' && typeof additionalProperties === 'object') return `a map${otherwise}`;
  if (type === undefined) throw new Error(`say in ${import.meta.filename} what it takes`);
  return type + otherwise;
}

/** The fields of an answer; those of what is in it in turn. One that may be missing has a question mark. */
function outlineOf(given: object): string {
  const { properties = {}, required = [] } = given as Schema;
  const fields = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? '' : '?';
    const inner = schema.items ?? schema;
    const list = schema.type === 'array' ? ', a list' : '';
    if (inner.properties === undefined) return code(name + mark) + list;
    return `${code(name + mark)}${list} (${outlineOf(inner).replace(/\.$/, '')})`;
  });
  return fields.length === 0 ? '`{}`.' : `${fields.join(', ')}.`;
}

function exampleOf({ method, url, operation, params, query, body }: OpsRoute): string {
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

/** As GitHub makes them of headings. */
function anchorOf(method: string, url: string): string {
  return `${method} ${pathOf(url)}`
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}
