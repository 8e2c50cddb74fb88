/** A model behind a proxy, and a recorder in front of it. */
import { createServer, request } from 'node:http';
import { type LocalServer, listenLocally } from '../../../support/local-server.ts';
import { recordingServer } from '../../../support/recording-server.ts';

/** Answers as the APIs of OpenAI and Anthropic do, as far as their SDKs read it. */
export function startModel(): Promise<LocalServer> {
  const server = recordingServer(({ url = '' }, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(url.endsWith('/messages') ? MESSAGE : COMPLETION));
  });
  return listenLocally(server);
}

const COMPLETION = {
  id: 'c',
  object: 'chat.completion',
  created: 0,
  model: 'any',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
};
const MESSAGE = {
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'any',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
};

export interface Recorder extends LocalServer {
  /** Of each request in order: how often the SDK had repeated it, and the status that it got. */
  readonly seen: string[];
}

/** Passes requests on to this address. */
export async function startRecorder(target: string): Promise<Recorder> {
  const seen: string[] = [];
  const server = createServer((incoming, outgoing) => {
    const { method, headers } = incoming;
    const passed = request(new URL(incoming.url ?? '/', target), { method, headers }, (answer) => {
      const { statusCode = 0 } = answer;
      seen.push(`repeated ${headers['x-stainless-retry-count']}: ${statusCode}`);
      outgoing.writeHead(statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  return { ...(await listenLocally(server)), seen };
}
