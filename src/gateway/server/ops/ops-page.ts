/**
 * The page `/ui`: the files of one folder, read at the first request. They hold no data. The page calls the ops API, which
 * requires the token.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { extname, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { FORBIDDEN } from './ops-api.ts';

export interface OpsPageOptions {
  readonly folder: string;
  readonly mayLoad: (headers: IncomingHttpHeaders) => boolean;
}

interface PageFile {
  readonly type: string;
  readonly content: Buffer;
  readonly etag: string;
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['.html', 'text/html; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
]);

const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  // Another version of headgate has other files.
  'Cache-Control': 'no-cache',
};

const INDEX = 'index.html';

export function addOpsPage(server: FastifyInstance, { folder, mayLoad }: OpsPageOptions): void {
  let files: ReadonlyMap<string, PageFile> | undefined;
  const send = (name: string, request: FastifyRequest, reply: FastifyReply) => {
    files ??= readFiles(folder);
    const file = files.get(name);
    if (file === undefined) return reply.callNotFound();
    const { type, content, etag } = file;
    reply.header('ETag', etag);
    if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type(type).send(content);
  };
  server.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    if (!mayLoad(request.headers)) return reply.code(403).send(FORBIDDEN);
  });
  // Relative, so that it holds behind a proxy with a prefix.
  server.get('/ui', (_request, reply) => reply.redirect('ui/', 308));
  server.get('/ui/', (request, reply) => send(INDEX, request, reply));
  server.get<{ Params: { file: string } }>('/ui/:file', (request, reply) =>
    send(request.params.file, request, reply),
  );
}

function readFiles(folder: string): Map<string, PageFile> {
  const files = new Map<string, PageFile>();
  for (const name of readdirSync(folder)) {
    const type = TYPES.get(extname(name));
    if (type === undefined) continue;
    const content = readFileSync(join(folder, name));
    const digest = createHash('sha256').update(content).digest('base64url');
    files.set(name, { type, content, etag: `"${digest}"` });
  }
  return files;
}

/** RFC 9110, section 13.1.2. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  return (
    ifNoneMatch?.split(',').some((known) => known.trim().replace(/^W\//, '') === etag) ?? false
  );
}
