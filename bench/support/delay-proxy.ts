/**
 * A TCP link with a longer way: every chunk leaves half of the added delay after it came, in either direction, in its
 * order, and without waiting for the one before. A program of its own: TARGET_PORT ADDED_MS.
 */
import { connect, createServer, type Socket } from 'node:net';
import { waitTowards } from '../../tools/load/precise-wait.ts';

interface Travelling {
  readonly chunk: Buffer;
  readonly to: Socket;
  readonly dueMs: number;
}

const [targetPort = 0, addedMs = 0] = process.argv.slice(2).map(Number);
// All travel equally long, so the first to leave is the first to arrive.
const travelling: Travelling[] = [];

function carry(from: Socket, to: Socket): void {
  from.setNoDelay();
  from.on('data', (chunk) => {
    if (addedMs === 0) {
      to.write(chunk);
      return;
    }
    travelling.push({ chunk: chunk as Buffer, to, dueMs: performance.now() + addedMs / 2 });
    if (travelling.length === 1) void deliver();
  });
  from.on('close', () => to.destroy());
  from.on('error', () => to.destroy());
}

async function deliver(): Promise<void> {
  for (let first = travelling[0]; first !== undefined; first = travelling[0]) {
    while (performance.now() < first.dueMs) await waitTowards(first.dueMs);
    first.to.write(first.chunk);
    travelling.shift();
  }
}

const server = createServer((near) => {
  const far = connect(targetPort, '127.0.0.1');
  carry(near, far);
  carry(far, near);
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  console.log(`http://127.0.0.1:${port}`);
});
