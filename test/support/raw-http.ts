/** Bytes to a server as they are, and what comes back: for requests that no client library would send. */
import { once } from 'node:events';
import { connect } from 'node:net';

/** How long a busy machine may take for the first byte. */
const FIRST_BYTE_MS = 3_000;
/** `answerTo` ends with the answer, so this only bounds a test that fails. */
const WHOLE_ANSWER_MS = 20_000;

interface Patience {
  /** How long the server may pause between two parts of its answer. */
  readonly silenceMs: number;
  readonly firstByteMs: number;
}

/** Sends, and resolves to everything that the server wrote until it closed or fell silent. */
export async function exchange(
  url: string,
  bytes: string | Buffer,
  silenceMs = 300,
  firstByteMs = FIRST_BYTE_MS,
): Promise<string> {
  return converse(url, bytes, { silenceMs, firstByteMs }, () => false);
}

/**
 * Sends one request, and resolves to its answer without waiting until the server closes the connection. Resolves to less
 * than an answer if the server closes before that.
 */
export async function answerTo(url: string, request: string | Buffer): Promise<string> {
  const patience = { silenceMs: WHOLE_ANSWER_MS, firstByteMs: WHOLE_ANSWER_MS };
  return converse(url, request, patience, isWholeAnswer);
}

async function converse(
  url: string,
  bytes: string | Buffer,
  { silenceMs, firstByteMs }: Patience,
  isEnough: (text: string) => boolean,
): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
    if (isEnough(text)) socket.destroy();
    else socket.setTimeout(silenceMs);
  });
  socket.setTimeout(Math.max(silenceMs, firstByteMs), () => socket.destroy());
  // A reset by the server is an answer too.
  socket.on('error', () => {});
  socket.write(bytes);
  // `once` would take a reset for a failure.
  await new Promise((resolve) => socket.on('close', resolve));
  return text;
}

function isWholeAnswer(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const head = text.slice(0, end + 2);
  const body = text.slice(end + 4);
  if (/\r\ntransfer-encoding: *chunked\r\n/i.test(head)) return body.endsWith('0\r\n\r\n');
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1];
  // Without a length, the body ends with the connection.
  return length !== undefined && body.length >= Number(length);
}

export function statusOf(answer: string): number | undefined {
  const match = /^HTTP\/1\.1 (\d{3})/.exec(answer);
  return match === null ? undefined : Number(match[1]);
}
