import type { Template } from './answer-template.ts';

/** Which headers tell the limits: those of headgate and the IETF draft, those that LLM clients know, or none. */
export const HEADER_FORMS = ['standard', 'openai', 'off'] as const;
export type HeaderForm = (typeof HEADER_FORMS)[number];

/** How answers to clients look. The policy file says it for all policies, and a policy can say it for its own requests. */
export interface AnswerStyle {
  /** X-RateLimit-Reset as seconds since the epoch or from now. */
  readonly reset: 'epoch' | 'delta';
  /** Up to this many seconds are added to Retry-After, so that denied clients do not all retry at once. */
  readonly retryAfterJitterSeconds: number;
  readonly body: 'json' | 'problem+json' | 'json-rpc' | 'openai';
  /** Undefined: `standard`. */
  readonly headers?: HeaderForm | undefined;
  /** The code of the error in a body of `json-rpc`. */
  readonly jsonRpcCode?: number | undefined;
  /** In place of the message of a 429. */
  readonly text?: Template | undefined;
  /** In place of the body of a 429, for browsers: HTML in one line of ASCII. */
  readonly page?: Template | undefined;
  readonly cors?: CorsRules | undefined;
}

/** Which web pages may read a denial (Fetch standard, "CORS protocol"). */
export interface CorsRules {
  /** `https://app.example.com`, or `*` alone for every one. */
  readonly origins: ReadonlySet<string>;
  readonly credentials: boolean;
}
