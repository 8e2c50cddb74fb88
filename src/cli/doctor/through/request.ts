import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

export interface Target {
  readonly url: URL;
  /** The Host header, if it is not that of the URL. With TLS, also the name of the server. */
  readonly host?: string;
  /** The Authorization header. It is never printed. */
  readonly authorization?: string;
}

export type Reply = Exclude<Awaited<ReturnType<typeof send>>, Error>;

export type Claims = readonly (readonly [name: string, value: string])[];

const TIMEOUT_MS = 5_000;

/** Resolves to the Error if there is no answer. Only the beginning of a 503 is read. */
export async function send(target: Target, claims: Claims = [], method: 'GET' | 'HEAD' = 'GET') {
  try {
    const response = await responseTo(target, claims, method);
    const header = (name: string) => response.headers[name]?.toString();
    const date = Date.parse(header('date') ?? '');
    const status = response.statusCode ?? 0;
    const reply = {
      status,
      limit: numberIn(header('x-ratelimit-limit') ?? header('x-ratelimit-limit-requests')),
      remaining: numberIn(
        header('x-ratelimit-remaining') ?? header('x-ratelimit-remaining-requests'),
      ),
      bypass: header('x-ratelimit-bypass'),
      mode: header('x-ratelimit-mode'),
      retryAfter: header('retry-after'),
      /** Only the application may get it. */
      hasSettleToken: header('x-headgate-settle') !== undefined,
      /** The answer is that of headgate. */
      isDenial: header('x-ratelimit-decision-id') !== undefined,
      /** The proxy says that it could not ask headgate. */
      isUnavailable: status === 503 && (await beginOf(response)).includes('gateway_unavailable'),
      /** Milliseconds since the epoch, by the clock of the proxy. */
      date: Number.isNaN(date) ? undefined : date,
    };
    // The rest of the body may be endless, or break off.
    response.destroy();
    return reply;
  } catch (error) {
    const { name, code, message } = error as NodeJS.ErrnoException;
    return new Error(
      name === 'AbortError' ? `none within ${TIMEOUT_MS / 1_000} s` : (code ?? message),
    );
  }
}

function responseTo(
  { url, host, authorization }: Target,
  claims: Claims,
  method: string,
): Promise<IncomingMessage> {
  const headers = {
    'User-Agent': 'headgate-doctor',
    ...(host !== undefined && { Host: host }),
    ...Object.fromEntries(claims),
    ...(authorization !== undefined && { Authorization: authorization }),
  };
  const name = host?.replace(/:\d+$/, '');
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const options = { method, headers, signal, ...(name !== undefined && { servername: name }) };
    const requestWith = url.protocol === 'https:' ? requestHttps : requestHttp;
    const request = requestWith(url, options, (response) => {
      response.on('error', () => {});
      resolve(response);
    });
    request.on('error', reject);
    request.end();
  });
}

async function beginOf(response: IncomingMessage): Promise<string> {
  for await (const chunk of response) return String(chunk);
  return '';
}

function numberIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
