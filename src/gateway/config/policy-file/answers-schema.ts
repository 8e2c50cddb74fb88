/** How answers to clients look: the section of the file, and that of a policy. */
import { z } from 'zod';
import { type AnswerStyle, HEADER_FORMS } from '../../core/answer-style.ts';
import { templateOf } from '../../core/answer-template.ts';
import { checkedText } from '../refinement.ts';
import { checkedMessage, pageInOneLine } from './answer-texts.ts';
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
  headers: z
    .enum(HEADER_FORMS)
    .optional()
    .describe(
      'The headers that tell limits, also of allowed requests: those of headgate and of the IETF draft, those of the API of OpenAI, or none. With off, clients learn no number of the limits of the policy. Default: standard.',
    ),
  text: checkedText(checkedMessage, {
    title: 'text of 1 to 1000 characters',
    examples: ['Come back in {seconds} s.'],
  })
    .optional()
    .describe(
      'In place of the message of a 429, in every form of body. {seconds}, {policy} and {id} stand for the wait, the policy that denies and the decision id. Default: what was limited, and when to try again.',
    ),
  page: checkedText(pageInOneLine, {
    title: 'HTML, or the name of a file',
    examples: ['denied.html'],
  })
    .optional()
    .describe(
      'In place of the body of a 429, for clients whose Accept names text/html: HTML, or the name of a file beside the policy file, of at most 8192 bytes in ASCII. It has the placeholders of text. Default: none.',
    ),
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

/** `own`: the answers of a policy. `usualBody` is the body if the policy names none. */
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
    headers: own.headers ?? file.headers,
    text: template(own.text ?? file.text),
    page: template(own.page ?? file.page),
  };
}

function template(text: string | undefined) {
  return text === undefined ? undefined : templateOf(text);
}
