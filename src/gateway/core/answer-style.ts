/** How answers to clients look. The policy file says it for all policies, and a policy can say it for its own requests. */
export interface AnswerStyle {
  /** X-RateLimit-Reset as seconds since the epoch or from now. */
  readonly reset: 'epoch' | 'delta';
  /** Up to this many seconds are added to Retry-After, so that denied clients do not all retry at once. */
  readonly retryAfterJitterSeconds: number;
  readonly body: 'json' | 'problem+json' | 'json-rpc' | 'openai';
  /** Which headers tell the limits: those of headgate and the IETF draft, those that LLM clients know, or none. */
  readonly headers?: 'standard' | 'openai' | 'off' | undefined;
  /** The code of the error in a body of `json-rpc`. */
  readonly jsonRpcCode?: number | undefined;
  /** In place of the message of a denial by a limit. `{seconds}`, `{policy}` and `{id}` stand for values. */
  readonly text?: string | undefined;
  /** HTML in one line, for browsers. It has the same placeholders. */
  readonly page?: string | undefined;
  readonly cors?: CorsRules | undefined;
}

/** Which web pages may read a denial (Fetch standard, "CORS protocol"). */
export interface CorsRules {
  /** `https://app.example.com`, or `*` alone for every one. */
  readonly origins: ReadonlySet<string>;
  readonly credentials: boolean;
}
