/** Renders the answer of an explained request as one dialect would send it to its proxy. */
import type { Decision } from '../core/counting/decision.ts';
import type { AnswerStyle } from '../core/matching/policy-set.ts';
import { DIALECT_NAMES, DIALECTS } from '../dialects/index.ts';
import { OperationError } from './operation-error.ts';

export { DIALECT_NAMES };

/** Used if the caller names no dialect. */
export const DEFAULT_DIALECT = 'envoy';

export interface ExplainedAnswer {
  readonly dialect: string;
  /** The status that the gateway would answer to the proxy. */
  readonly status: number;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: string;
}

/** Throws an OperationError that lists the names if there is no such dialect. */
export function answerBy(dialect: string) {
  const render = rendererOf(dialect);
  return (decision: Decision, style: AnswerStyle): ExplainedAnswer => {
    const { status, headers, body } = render(decision, style);
    return { dialect, status, headers, body };
  };
}

type RenderAnswer = (decision: Decision, style: AnswerStyle) => Omit<ExplainedAnswer, 'dialect'>;

function rendererOf(name: string): RenderAnswer {
  const dialect = DIALECTS.find((each) => each.name === name);
  if (dialect === undefined) {
    throw new OperationError(
      'invalid',
      `"${name}" is not a proxy that headgate knows; use one of ${DIALECT_NAMES.join(', ')}`,
    );
  }
  return dialect.render;
}
