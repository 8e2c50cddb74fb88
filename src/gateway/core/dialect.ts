/** The port to proxies: parses the check that a proxy sends, and renders the answer that it needs. */
import type { AnswerStyle } from './answer-style.ts';
import type { CheckRequest, HeaderFields } from './check-request.ts';
import type { Decision } from './counting/decision.ts';

export interface ProxyCall {
  readonly method: string;
  /** The request target after the dialect's mount. */
  readonly target: string;
  readonly headers: HeaderFields;
  readonly remoteAddress: string;
}

export interface Answer {
  readonly status: number;
  /** Name, value, name, value. node:http writes this shape fastest. */
  readonly headers: string[];
  readonly body: string;
}

export interface Dialect {
  readonly name: string;
  /** The check server hands requests under this path to the dialect. */
  readonly mount: string;
  readonly hasProxyConfig: boolean;
  /** For malformed requests. The proxy passes it on as a denial. */
  readonly badRequest: 400 | 403;
  parse(call: ProxyCall): CheckRequest;
  /** `sent`: the headers of the request, as far as the proxy sends them. */
  render(decision: Decision, style: AnswerStyle, sent?: HeaderFields): Answer;
}
