/** `POST /settle`: the only requests on the check port whose body is read. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer } from '../core/dialect.ts';
import { isThisMachine } from '../core/identity/address.ts';
import { type CallerOptions, compileSecretCheck, isFromWebPage } from './callers.ts';
import { type Answering, failure, internalError, json, writeAnswer } from './http-check.ts';
import type { JsonAnswer } from './json-server.ts';
import { createBodyReader } from './request-body.ts';

export interface Settling {
  /** A caller that has one of these as a header can settle, and nothing else. */
  readonly secrets: readonly string[];
  /** Called for each caller that may not settle. */
  readonly onRefused: () => void;
  /** Gives the status and the JSON that answer a body. */
  readonly answer: (body: string) => JsonAnswer | Promise<JsonAnswer>;
  /** Answers that are written together cost less, see `Arrivals`. */
  readonly atEndOfTurn: (job: () => void) => void;
}

interface SettleEndpointOptions extends CallerOptions, Answering {
  readonly settling: Settling;
  readonly callerWithoutAddress: string;
}

export const SETTLE_PATH = '/settle';
const SETTLE_SECRET_HEADER = 'x-headgate-settle-secret';
const JSON_TYPE = /^application\/json[ \t]*(;|$)/i;

const FROM_A_WEB_PAGE = 'Web pages may not settle.';
const WRONG_SECRET = 'The secret is wrong.';
const NO_SECRET = 'Send the proxy secret, or HEADGATE_SETTLE_SECRET as X-Headgate-Settle-Secret.';
const NOT_LOCAL =
  'Other machines need a secret: set HEADGATE_SETTLE_SECRET, and send it as X-Headgate-Settle-Secret.';

export function createSettleEndpoint(options: SettleEndpointOptions) {
  const { settling } = options;
  const refusalOf = compileRefusals(options);
  const read = createBodyReader();
  return (message: IncomingMessage, response: ServerResponse): void => {
    const write = (answer: Answer) => writeAnswer(response, answer, options);
    const refusal = refusalOf(message);
    if (refusal !== undefined) {
      write(refusal);
      return;
    }
    const writeLast = (answer: Answer) => settling.atEndOfTurn(() => write(answer));
    const settled = ({ status, body }: JsonAnswer) => writeLast(json(status, body));
    read(message, response, (body) => {
      const fail = () => writeLast(internalError());
      try {
        const answer = settling.answer(body);
        if (answer instanceof Promise) answer.then(settled, fail);
        else settled(answer);
      } catch {
        fail();
      }
    });
  };
}

/** What refuses a request by its head alone. */
function compileRefusals(options: SettleEndpointOptions) {
  const { proxySecrets, settling, callerWithoutAddress } = options;
  const isProxy = compileSecretCheck(proxySecrets);
  const canSettle = compileSecretCheck(settling.secrets, SETTLE_SECRET_HEADER);
  const hasSecrets = { proxy: proxySecrets.length > 0, settle: settling.secrets.length > 0 };
  const missingRight = ({ headers, socket }: IncomingMessage): string | undefined => {
    if (!hasSecrets.proxy && !hasSecrets.settle) {
      const address = socket.remoteAddress ?? callerWithoutAddress;
      return isThisMachine(address) ? undefined : NOT_LOCAL;
    }
    const isKnown =
      (hasSecrets.proxy && isProxy(headers)) || (hasSecrets.settle && canSettle(headers));
    if (isKnown) return undefined;
    return headers[SETTLE_SECRET_HEADER] === undefined ? NO_SECRET : WRONG_SECRET;
  };
  return (message: IncomingMessage): Answer | undefined => {
    const { method, headers } = message;
    if (method !== 'POST') {
      const answer = failure(405, 'method_not_allowed', 'Use POST.');
      answer.headers.push('Allow', 'POST');
      return answer;
    }
    if (isFromWebPage(headers)) return failure(403, 'forbidden', FROM_A_WEB_PAGE);
    const missing = missingRight(message);
    if (missing !== undefined) {
      settling.onRefused();
      return failure(403, 'forbidden', missing);
    }
    const isJson = JSON_TYPE.test(headers['content-type'] ?? '');
    const { 'content-encoding': coding = 'identity' } = headers;
    return isJson && coding === 'identity'
      ? undefined
      : failure(415, 'unsupported_media_type', 'Send application/json, not compressed.');
  };
}
