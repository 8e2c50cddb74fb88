/**
 * @fastify/rate-limit as its README sets it up with Redis. A fixed window: a counter that starts anew every hour. The
 * route adds the header fields that the gateway sends and the plugin does not.
 */
import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';
import { Redis } from 'ioredis';

const LIMIT = 1_000_000;
const WINDOW_SECONDS = 3_600;

const server = fastify({ logger: false });
await server.register(rateLimit, {
  max: LIMIT,
  timeWindow: WINDOW_SECONDS * 1000,
  redis: new Redis(process.argv[2] ?? '', { connectTimeout: 500, maxRetriesPerRequest: 1 }),
  keyGenerator: (request) => String(request.headers['x-headgate-client-ip']),
});
server.all('/*', (_request, reply) => {
  const remaining = reply.getHeader('x-ratelimit-remaining');
  const resetSeconds = reply.getHeader('x-ratelimit-reset');
  reply.headers({
    'cache-control': 'no-store',
    ratelimit: `"default";r=${remaining};t=${resetSeconds}`,
    'ratelimit-policy': `"default";q=${LIMIT};w=${WINDOW_SECONDS}`,
  });
  return reply.send('');
});
console.log(await server.listen({ host: '127.0.0.1', port: 0 }));
