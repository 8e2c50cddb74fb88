/** The least that a server on Fastify can do: it answers an empty 200 from its first hook, before routes and bodies. */
import fastify from 'fastify';

const server = fastify({ logger: false, rewriteUrl: () => '/' });
server.addHook('onRequest', (_request, reply) => {
  reply.hijack();
  reply.raw.writeHead(200, ['Content-Length', '0']);
  reply.raw.end();
});
console.log(await server.listen({ host: '127.0.0.1', port: 0 }));
