import { z } from 'zod';
import { VERSION } from '../../config/shipped-files.ts';
import { type JsonSchema, jsonSchemaOf, OPS_ROUTES, type OpsRoute } from './ops-routes.ts';

const status = z.object({ status: z.string() });
const readiness = status.extend({
  unresponsive_workers: z
    .array(z.number())
    .describe('The numbers of the workers that hang, as in the log. Others get the connections.')
    .optional(),
  unseen_headers: z
    .array(
      z.object({
        dialect: z.string().describe('The kind of proxy.'),
        header: z.string(),
      }),
    )
    .describe('Headers that the policy file needs but that no request through the proxy had.')
    .optional(),
  unsettled_policies: z
    .array(z.string())
    .describe('Policies that reserve units, and whose outcomes nobody reports.')
    .optional(),
});

const error = z.object({
  error: z.string().describe('A word for programs.'),
  message: z.string().describe('What is wrong, and what to do.'),
});

/** `needsToken`: the ops API has an admin token. Without one, it answers only callers on this machine. */
export function openApiDocument(needsToken: boolean): object {
  return {
    openapi: '3.1.0',
    info: { title: 'headgate operations', version: VERSION },
    ...(needsToken && {
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    }),
    paths: { ...openPaths(), ...operationPaths(needsToken) },
  };
}

function openPaths() {
  const text = { 200: { description: 'Default Response' } };
  const alive = { 200: json('Alive', jsonSchemaOf(status, 'output')) };
  const ready = {
    200: json('Ready', jsonSchemaOf(readiness, 'output')),
    503: json('Not ready', jsonSchemaOf(status, 'output')),
  };
  return {
    '/livez': { get: { summary: 'Liveness', responses: alive } },
    '/readyz': { get: { summary: 'Readiness: whether proxies are answered', responses: ready } },
    '/metrics': { get: { summary: 'Metrics for Prometheus', responses: text } },
    '/openapi.json': { get: { summary: 'This description', responses: text } },
  };
}

function operationPaths(needsToken: boolean) {
  const paths: Record<string, object> = {};
  for (const route of OPS_ROUTES) {
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, needsToken) };
  }
  return paths;
}

function operationOf({ operation, summary, schemas }: OpsRoute, needsToken: boolean) {
  const { params, query, body, answer } = schemas();
  const errorSchema = jsonSchemaOf(error, 'output');
  const failure = (description: string) => json(description, errorSchema);
  const parameters = [...parametersIn('query', query), ...parametersIn('path', params)];
  return {
    operationId: operation,
    summary,
    ...(needsToken && { security: [{ token: [] }] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: (body.required ?? []).length > 0,
        content: { 'application/json': { schema: body } },
      },
    }),
    responses: {
      200: json('Success', answer),
      400: failure('The call is invalid'),
      ...(needsToken
        ? { 401: failure('The admin token is missing or wrong') }
        : { 403: failure('The call does not come from this machine') }),
      404: failure('There is no such policy, key, override or decision'),
      409: failure('This client cannot be named so, or the maximum number of overrides is reached'),
      ...(body && {
        413: failure('The body is longer than 256 KiB'),
        415: failure('The body is not application/json'),
      }),
      500: failure('A fault of headgate, whose log has more'),
      503: failure('Redis is unavailable'),
    },
  };
}

function parametersIn(place: 'path' | 'query', { properties, required }: JsonSchema = {}) {
  return Object.entries(properties ?? {}).map(([name, described]) => {
    const { description, ...schema } = described as JsonSchema;
    const isRequired = required?.includes(name) === true;
    return { name, in: place, required: isRequired, description, schema };
  });
}

function json(description: string, schema: JsonSchema) {
  return {
    description,
    content: { 'application/json': { schema: { description, ...schema } } },
  };
}
