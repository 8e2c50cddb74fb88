// Between NGINX, Caddy or HAProxy and an OpenAI-compatible server: reports how many tokens each answer took.
import { request as ask, createServer } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';

const {
  MODEL_URL = 'http://127.0.0.1:8001',
  HEADGATE_URL = 'http://127.0.0.1:8080',
  HEADGATE_SETTLE_SECRET = '',
  PORT = '3000',
} = process.env;
const LARGEST_REQUEST = 8 * 2 ** 20;
/** Characters. What is longer is passed on, and costs as an answer without usage. */
const LONGEST_READ = 16 * 2 ** 20;

const server = createServer(async (request, response) => {
  const { 'x-headgate-settle': token, 'content-length': _, ...headers } = request.headers;
  // Errors cost nothing.
  const usage = { tokens: 0 };
  // Also if the client hangs up. Without units it is charged as unknown, so aborting is never cheaper.
  response.on('close', () => {
    const units =
      response.writableFinished && usage.tokens >= 0 ? { tokens: usage.tokens } : undefined;
    void settle(token, { status: response.statusCode, units });
  });
  const body = await bodyOf(request).catch(() => undefined); // the client has hung up
  if (body === undefined) {
    response.writeHead(413, { Connection: 'close' }).end();
    return;
  }
  const sent = ask(MODEL_URL, {
    method: request.method,
    path: request.url, // not as a URL: //example.com/ would be another server
    // Compressed answers could not be read.
    headers: { ...headers, 'accept-encoding': 'identity' },
  });
  response.on('close', () => sent.destroy());
  sent.on('error', () =>
    response.headersSent ? response.destroy() : response.writeHead(502).end(),
  );
  sent.on('response', async (answer) => {
    // NGINX passes on each event at once.
    response.writeHead(answer.statusCode, { ...answer.headers, 'x-accel-buffering': 'no' });
    if (answer.statusCode < 400) usage.tokens = undefined;
    const isStream = /^text\/event-stream/.test(answer.headers['content-type'] ?? '');
    const read = (chunks) => counted(chunks, isStream, usage);
    await pipeline(answer, read, response).catch(() => response.destroy());
  });
  sent.end(withUsage(body));
});
server.listen(Number(PORT), '127.0.0.1');

/** Undefined if it is too large. */
async function bodyOf(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > LARGEST_REQUEST) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A stream of chat completions has its usage only if the request asks for it. */
function withUsage(body) {
  try {
    const parsed = JSON.parse(body);
    if (parsed.stream !== true || parsed.messages === undefined) return body;
    const stream_options = { ...parsed.stream_options, include_usage: true };
    return JSON.stringify({ ...parsed, stream_options });
  } catch {
    return body;
  }
}

/** Passes the chunks on, and writes the tokens into `usage`. */
async function* counted(chunks, isStream, usage) {
  const decoder = new StringDecoder();
  let text = '';
  for await (const chunk of chunks) {
    if (text.length < LONGEST_READ) text += decoder.write(chunk);
    if (isStream) {
      const lines = text.split('\n');
      text = lines.pop();
      for (const line of lines) if (line.startsWith('data: {')) readUsage(line.slice(6), usage);
    }
    yield chunk;
  }
  if (!isStream) readUsage(text, usage);
}

function readUsage(text, usage) {
  if (!text.includes('"total_tokens"')) return;
  try {
    const { usage: ofChat, response } = JSON.parse(text);
    usage.tokens = (ofChat ?? response?.usage)?.total_tokens ?? usage.tokens;
  } catch {
    // No usage: it is charged as unknown.
  }
}

/** Never fails the request: if the report is lost, what was reserved stays charged. */
async function settle(token, outcome) {
  if (token === undefined) return; // no limit of this request charges afterwards
  try {
    const answer = await fetch(`${HEADGATE_URL}/settle`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'X-Headgate-Settle-Secret': HEADGATE_SETTLE_SECRET,
      },
      body: JSON.stringify({ token, ...outcome }),
      signal: AbortSignal.timeout(2000),
    });
    const { result, reason, message } = await answer.json();
    if (result !== 'settled') console.error(`not settled: ${reason ?? message}`);
  } catch (error) {
    console.error(`not settled: ${error.message}`);
  }
}
