/**
 * The gateway's work done plainly: the same exact window, from the same hook, with the same header fields, by one call
 * of the classic ZSET script per request.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fastify from 'fastify';
import { Redis } from 'ioredis';

const LIMIT = 1_000_000;
const WINDOW_MS = 3_600_000;

const script = readFileSync(new URL('zset.lua', import.meta.url), 'utf8');
const sha = hash('sha1', script, 'hex');
const redis = new Redis(process.argv[2] ?? '');
await redis.script('LOAD', script);

const server = fastify({ logger: false, rewriteUrl: () => '/' });
server.addHook('onRequest', async (request, reply) => {
  reply.hijack();
  const key = `zset:{${request.headers['x-headgate-client-ip']}}:default`;
  const answer = await redis.evalsha(sha, 1, key, LIMIT, WINDOW_MS);
  const [admitted = 0, remaining = 0, resetMs = 0, retryMs = 0, nowMs = 0] = answer as number[];
  const moreAfterMs = retryMs > 0 ? retryMs : resetMs;
  reply.raw.writeHead(admitted === 1 ? 200 : 429, [
    'Cache-Control',
    'no-store',
    'X-RateLimit-Limit',
    String(LIMIT),
    'X-RateLimit-Remaining',
    String(remaining),
    'X-RateLimit-Reset',
    String(Math.ceil((nowMs + resetMs) / 1000)),
    'RateLimit',
    `"default";r=${remaining};t=${Math.ceil(moreAfterMs / 1000)}`,
    'RateLimit-Policy',
    `"default";q=${LIMIT};w=${WINDOW_MS / 1000}`,
    'Content-Length',
    '0',
  ]);
  reply.raw.end();
});
console.log(await server.listen({ host: '127.0.0.1', port: 0 }));
