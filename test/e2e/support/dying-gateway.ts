/**
 * A program in place of a gateway that is killed while it decides: it answers no check, and kills itself as soon as it
 * has received so many of them. Arguments: the ports for HTTP and gRPC, and the number of checks.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';

const [port = 0, grpcPort = 0, checks = 0] = process.argv.slice(2).map(Number);
let received = 0;

function receive(): void {
  received++;
  if (received === checks) process.kill(process.pid, 'SIGKILL');
}

const servers = [
  createServer(receive).listen(port, '127.0.0.1'),
  createHttp2Server(receive).listen(grpcPort, '127.0.0.1'),
];
await Promise.all(servers.map((server) => once(server, 'listening')));
console.log('listening');
