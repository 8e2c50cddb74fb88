/** How answers to clients look: the section of the file, and that of a policy. */
import { z } from 'zod';
import type { AnswerStyle } from '../../core/answer-style.ts';
import { corsSchema } from './cors-schema.ts';

const ownKeys = {
  body: z
    .enum(['json', 'problem+json', 'json-rpc', 'openai'])
    .optional()
    .describe(
      'The body of a denial: the JSON of headgate, that of RFC 9457, an error of JSON-RPC for agents that speak MCP, or an error that clients of OpenAI know. Default: json, and json-rpc for calls of MCP.',
    ),
  json_rpc_code: z
    .int()
    .min(-2_147_483_648)
    .max(2_147_483_647)
    .optional()
    .describe('The code of an error of JSON-RPC. Default: -32023.'),
};

/** Of a policy. What is left out is as in the section of the file. */
export const ownAnswersSchema = z
  .strictObject(ownKeys)
  .describe('The form of answers to requests whose most specific policy this is.');

export const answersSchema = z.strictObject({
  reset: z
    .enum(['epoch', 'delta'])
    .default('epoch')
    .describe('X-RateLimit-Reset in seconds since 1970 (epoch), or from now (delta).'),
  retry_after_jitter_seconds: z
    .int()
    .min(0)
    .max(300)
    .default(0)
    .describe(
      'Maximum number of seconds added to Retry-After, so that clients do not all return at the same time.',
    ),
  cors: corsSchema.optional(),
  ...ownKeys,
});

type AnswersSection = z.output<typeof answersSchema>;

/** `own`: what a policy says of its own answers. `usualBody`: if neither says it. */
export function answerStyle(
  file: AnswersSection,
  own: z.output<typeof ownAnswersSchema> = {},
  usualBody: AnswerStyle['body'] = file.body ?? 'json',
): AnswerStyle {
  return {
    reset: file.reset,
    retryAfterJitterSeconds: file.retry_after_jitter_seconds,
    body: own.body ?? usualBody,
    cors: file.cors,
    jsonRpcCode: own.json_rpc_code ?? file.json_rpc_code,
  };
}
