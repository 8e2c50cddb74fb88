/**
 * rate-limiter-flexible in a Fastify hook, with the options and header fields of its README. A fixed window: a counter
 * that starts anew every hour. Sends the header fields that the gateway sends.
 */
import fastify from 'fastify';
import { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';

const LIMIT = 1_000_000;
const WINDOW_SECONDS = 3_600;

const limiter = new RateLimiterRedis({
  storeClient: new Redis(process.argv[2] ?? '', { enableOfflineQueue: false }),
  points: LIMIT,
  duration: WINDOW_SECONDS,
});

const server = fastify({ logger: false });
server.addHook('onRequest', async (request, reply) => {
  try {
    const state = await limiter.consume(String(request.headers['x-headgate-client-ip']));
    reply.headers(fieldsOf(state));
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    reply.headers(fieldsOf(refusal));
    reply.header('Retry-After', refusal.msBeforeNext / 1000);
    return reply.code(429).send('Too Many Requests');
  }
});
server.all('/*', (_request, reply) => reply.send(''));
console.log(await server.listen({ host: '127.0.0.1', port: 0 }));

function fieldsOf({ remainingPoints, msBeforeNext }: RateLimiterRes) {
  return {
    'Cache-Control': 'no-store',
    'X-RateLimit-Limit': LIMIT,
    'X-RateLimit-Remaining': remainingPoints,
    'X-RateLimit-Reset': Math.ceil((Date.now() + msBeforeNext) / 1000),
    RateLimit: `"default";r=${remainingPoints};t=${Math.ceil(msBeforeNext / 1000)}`,
    'RateLimit-Policy': `"default";q=${LIMIT};w=${WINDOW_SECONDS}`,
  };
}
