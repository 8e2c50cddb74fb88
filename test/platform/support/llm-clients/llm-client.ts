/** The official SDKs of OpenAI and Anthropic, for Node and for Python. */
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

interface Calls {
  readonly baseUrl: string;
  /** One after the other, until one fails. */
  readonly calls: number;
  /** Undefined: the number of the SDK. */
  readonly maxRetries?: number;
}

interface Outcome {
  readonly answered: number;
  readonly failure: {
    readonly kind: string;
    readonly status: number;
    readonly message: string;
  } | null;
}

export type LlmClient = (calls: Calls) => Promise<Outcome>;

const MESSAGES = [{ role: 'user' as const, content: 'Hello' }];

export const openAiNode: LlmClient = ({ baseUrl, maxRetries, ...rest }) => {
  const options = maxRetries === undefined ? {} : { maxRetries };
  const model = new OpenAI({ apiKey: 'sk-test', baseURL: `${baseUrl}/v1`, ...options });
  return outcomeOf(rest, () => model.chat.completions.create({ model: 'any', messages: MESSAGES }));
};

export const anthropicNode: LlmClient = ({ baseUrl, maxRetries, ...rest }) => {
  const options = maxRetries === undefined ? {} : { maxRetries };
  const model = new Anthropic({ apiKey: 'sk-test', baseURL: baseUrl, ...options });
  return outcomeOf(rest, () =>
    model.messages.create({ model: 'any', max_tokens: 5, messages: MESSAGES }),
  );
};

async function outcomeOf({ calls }: Pick<Calls, 'calls'>, once: () => PromiseLike<unknown>) {
  let answered = 0;
  try {
    while (answered < calls) {
      await once();
      answered++;
    }
    return { answered, failure: null };
  } catch (error) {
    if (!(error instanceof OpenAI.APIError || error instanceof Anthropic.APIError)) throw error;
    const { status, message } = error;
    return { answered, failure: { kind: error.constructor.name, status: Number(status), message } };
  }
}

const PROGRAM = join(import.meta.dirname, 'client.py');

/** `library`: a file of one of its packages. */
export function pythonClient(
  vendor: 'openai' | 'anthropic',
  library: string | undefined,
): LlmClient {
  return async ({ baseUrl, calls, maxRetries }) => {
    const args = [PROGRAM, vendor, baseUrl, String(calls), String(maxRetries ?? 'default')];
    const env = { ...process.env, PYTHONPATH: dirname(dirname(library ?? '')) };
    const { stdout } = await promisify(execFile)('python3', args, { env });
    return JSON.parse(stdout);
  };
}
