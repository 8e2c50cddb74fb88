/** The usual floor: Fastify answering an empty 200 from a route, as anyone would write it. */
import fastify from 'fastify';

const server = fastify({ logger: false });
server.all('/*', (_request, reply) => reply.send(''));
console.log(await server.listen({ host: '127.0.0.1', port: 0 }));
