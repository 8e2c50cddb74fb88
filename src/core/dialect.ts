/** The port to proxies: how one of them asks, and how it wants to be answered. */
import type { CheckRequest, HeaderFields } from './check-request.ts';
import type { Decision } from './decision.ts';
import type { AnswerStyle } from './policy-set.ts';

/** What arrived at the check server. */
export interface ProxyCall {
  readonly method: string;
  /** The request target after the dialect's mount. */
  readonly target: string;
  readonly headers: HeaderFields;
  /** Who asked: the other end of the connection. */
  readonly remoteAddress: string;
}

export interface Answer {
  readonly status: number;
  /** Name, value, name, value: the shape that node:http writes fastest. */
  readonly headers: string[];
  readonly body: string;
}

export interface Dialect {
  readonly name: string;
  /** The path under which the check server hands requests to this dialect. */
  readonly mount: string;
  /** Whether `headgate proxy-config` writes a file for this proxy. */
  readonly hasProxyConfig: boolean;
  /** For what no honest client sends: a status that the proxy passes on as a denial. */
  readonly badRequest: 400 | 403;
  parse(call: ProxyCall): CheckRequest;
  render(decision: Decision, style: AnswerStyle): Answer;
}
