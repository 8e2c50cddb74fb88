/**
 * What APIs of language models send: Chat Completions and Responses of OpenAI, and Messages of Anthropic. A token is a
 * word.
 */

export type ModelApi = 'chat' | 'responses' | 'messages';

export interface Usage {
  readonly input: number;
  readonly output: number;
}

export interface Ending {
  readonly usage: Usage;
  /** The answer was cut at the number of tokens that the request allowed. */
  readonly isIncomplete: boolean;
  /** Some servers leave the usage out. */
  readonly hasUsage: boolean;
}

const word = (i: number) => `word${i} `;
const wordsOf = ({ output }: Usage) => Array.from({ length: output }, (_, i) => word(i)).join('');

/** The whole answer, as JSON. */
export const WHOLE: Readonly<Record<ModelApi, (ending: Ending) => object>> = {
  chat: (ending) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: wordsOf(ending.usage) },
        finish_reason: ending.isIncomplete ? 'length' : 'stop',
      },
    ],
    ...(ending.hasUsage && { usage: chatUsage(ending.usage) }),
  }),
  responses: (ending) => responseOf(ending),
  messages: (ending) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: wordsOf(ending.usage) }],
    stop_reason: ending.isIncomplete ? 'max_tokens' : 'end_turn',
    ...(ending.hasUsage && { usage: messageUsage(ending.usage) }),
  }),
};

function chatUsage({ input, output }: Usage) {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function responseUsage({ input, output }: Usage) {
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}

function messageUsage({ input, output }: Usage) {
  return { input_tokens: input, output_tokens: output };
}

function responseOf({ usage, isIncomplete, hasUsage }: Ending) {
  return {
    id: 'resp_1',
    object: 'response',
    status: isIncomplete ? 'incomplete' : 'completed',
    incomplete_details: isIncomplete ? { reason: 'max_output_tokens' } : null,
    output: [{ type: 'message', content: [{ type: 'output_text', text: wordsOf(usage) }] }],
    usage: hasUsage ? responseUsage(usage) : null,
  };
}

interface Stream {
  /** Before the first token. */
  readonly start: (usage: Usage) => readonly string[];
  /** With the token of this number. */
  readonly token: (i: number) => string;
  readonly end: (ending: Ending) => readonly string[];
}

/** The events of a stream, as lines with the blank line that ends each. */
export const STREAMS: Readonly<Record<ModelApi, Stream>> = {
  chat: {
    start: () => [chunk([{ index: 0, delta: { role: 'assistant', content: '' } }])],
    token: (i) => chunk([{ index: 0, delta: { content: word(i) }, finish_reason: null }]),
    end: ({ usage, isIncomplete, hasUsage }) => [
      chunk([{ index: 0, delta: {}, finish_reason: isIncomplete ? 'length' : 'stop' }]),
      ...(hasUsage ? [chunk([], chatUsage(usage))] : []),
      'data: [DONE]\n\n',
    ],
  },
  responses: {
    start: () => [named({ type: 'response.created', response: { id: 'resp_1', usage: null } })],
    token: (i) => named({ type: 'response.output_text.delta', delta: word(i) }),
    end: (ending) => [
      named({
        type: ending.isIncomplete ? 'response.incomplete' : 'response.completed',
        response: responseOf(ending),
      }),
    ],
  },
  messages: {
    start: ({ input }) => [
      named({
        type: 'message_start',
        message: { id: 'msg_1', usage: { input_tokens: input, output_tokens: 1 } },
      }),
    ],
    token: (i) =>
      named({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: word(i) },
      }),
    end: ({ usage, isIncomplete, hasUsage }) => [
      named({
        type: 'message_delta',
        delta: { stop_reason: isIncomplete ? 'max_tokens' : 'end_turn' },
        ...(hasUsage && { usage: { output_tokens: usage.output } }),
      }),
      named({ type: 'message_stop' }),
    ],
  },
};

function chunk(choices: readonly object[], usage: object | null = null): string {
  return `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices, usage })}\n\n`;
}

function named(event: { readonly type: string; readonly [key: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
