/** Every refusal of the ops server is `{ error, message }`, also those that Node and Fastify would word themselves. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import findMyWay from 'find-my-way';
import { OperationError, type OperationErrorCode } from '../../operations/operation-error.ts';
import { refuseConnection } from '../refused-connection.ts';

export interface OpsError {
  readonly error: string;
  readonly message: string;
}

export const STATUS_OF: Readonly<Record<OperationErrorCode, number>> = {
  invalid: 400,
  not_found: 404,
  not_possible: 409,
  conflict: 409,
  store_unavailable: 503,
  internal_error: 500,
};

const NOT_FOUND: OpsError = {
  error: 'not_found',
  message:
    'Nothing is here. Operators use /ui/, /livez, /readyz, /metrics, /stats and /v1; /openapi.json describes them.',
};
const INTERNAL_ERROR: OpsError = {
  error: 'internal_error',
  message: 'A fault of headgate: see its log.',
};
const NO_HOST = invalid('Send a Host header, which HTTP/1.1 requires.');
const BAD_EXPECTATION = invalid('Only Expect: 100-continue is supported. Leave out the header.');

/** Node's codes. With any other code, the request is not HTTP. */
const UNPARSABLE: Readonly<Record<string, { readonly status: string; readonly says: OpsError }>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    says: invalid('The request line and the headers can have 16 KiB together.'),
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: '413 Payload Too Large',
    says: invalid('The chunk extensions are too long. Leave them out.'),
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    says: invalid('The request took too long. Send it at once.'),
  },
};
const NOT_HTTP = { status: '400 Bad Request', says: invalid('This is not a request of HTTP/1.1.') };

export const OPS_ERRORS = {
  // A path has no shorter limit than the request line. The operations bound their fields themselves.
  routerOptions: { maxParamLength: 16_384 },
  // Fastify's own answer has another form. The connections are closed with the server.
  return503OnClosing: false,
  frameworkErrors(_error: FastifyError, _request: FastifyRequest, reply: FastifyReply): void {
    // This runs outside the hooks of the server, and Fastify's own text would repeat the URL.
    reply.hijack();
    answerWith(reply.raw, 400, invalid('The path has a wrong percent-encoding.'));
  },
  clientErrorHandler({ code = '' }: NodeJS.ErrnoException, socket: Socket): void {
    if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const { status, says } = UNPARSABLE[code] ?? NOT_HTTP;
    refuseConnection(socket, status, JSON.stringify(says));
  },
} as const;

/** Call this before routes are added. */
export function answerErrors(server: FastifyInstance, onFault: (error: unknown) => void): void {
  const methods = methodsOfRoutes(server);
  server.server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) =>
    answerWith(response, 417, BAD_EXPECTATION),
  );
  server.addHook('onRequest', async ({ raw, is404, method, url }, reply) => {
    if (raw.httpVersion === '1.1' && raw.headers.host === undefined)
      return reply.code(400).header('Connection', 'close').send(NO_HOST);
    if (!is404) return;
    // Before the body is parsed: what is wrong with it does not matter here.
    const allowed = methods(url);
    if (allowed === undefined) return reply.code(404).send(NOT_FOUND);
    const message = `${method} is not possible here. Use ${allowed.join(' or ')}; /openapi.json describes the calls.`;
    return reply
      .code(405)
      .header('Allow', allowed.join(', '))
      .send({ error: 'method_not_allowed', message } satisfies OpsError);
  });
  // Fastify's own answer would repeat the URL.
  server.setNotFoundHandler((_request, reply) => reply.code(404).send(NOT_FOUND));
  server.setErrorHandler((error: FastifyError | OperationError, _request, reply) => {
    if (error instanceof OperationError) {
      const { code, message } = error;
      return reply.code(STATUS_OF[code]).send({ error: code, message } satisfies OpsError);
    }
    const { statusCode = 500, message } = error;
    if (statusCode < 500) return reply.code(statusCode).send(invalid(message));
    onFault(error);
    return reply.code(500).send(INTERNAL_ERROR);
  });
}

function methodsOfRoutes(server: FastifyInstance): (url: string) => string[] | undefined {
  const methods = new Map<string, string[]>();
  server.addHook('onRoute', ({ url, method }) => {
    methods.set(url, [...(methods.get(url) ?? []), ...[method].flat()]);
  });
  let router: ReturnType<typeof findMyWay> | undefined;
  const build = () => {
    const built = findMyWay(OPS_ERRORS.routerOptions);
    for (const [url, allowed] of methods) built.on('GET', url, () => {}, [...new Set(allowed)]);
    return built;
  };
  return (url) => {
    router ??= build();
    return router.find('GET', url.replace(/[?#].*$/s, ''))?.store as string[] | undefined;
  };
}

function invalid(message: string): OpsError {
  return { error: 'invalid', message };
}

function answerWith(response: ServerResponse, status: number, says: OpsError): void {
  const body = JSON.stringify(says);
  response
    .writeHead(status, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
      // The body of the request was not read.
      Connection: 'close',
    })
    .end(response.req.method === 'HEAD' ? undefined : body);
}
