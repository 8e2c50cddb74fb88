/** Bytes to a server as they are, and what comes back: for requests that no client library would send. */
import { once } from 'node:events';
import { connect } from 'node:net';

/** How long a busy machine may take for the first byte. */
const FIRST_BYTE_MS = 3_000;

/** Sends, and resolves to everything that the server wrote until it closed or fell silent. */
export async function exchange(
  url: string,
  bytes: string | Buffer,
  silenceMs = 300,
  firstByteMs = FIRST_BYTE_MS,
): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
    socket.setTimeout(silenceMs);
  });
  socket.setTimeout(Math.max(silenceMs, firstByteMs), () => socket.destroy());
  // A reset by the server is an answer too.
  socket.on('error', () => {});
  socket.write(bytes);
  // `once` would take a reset for a failure.
  await new Promise((resolve) => socket.on('close', resolve));
  return text;
}

export function statusOf(answer: string): number | undefined {
  const match = /^HTTP\/1\.1 (\d{3})/.exec(answer);
  return match === null ? undefined : Number(match[1]);
}
