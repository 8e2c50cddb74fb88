import { parseRedisUrl } from '../../gateway/config/settings/redis-url.ts';
import { type Prompt, say } from '../output/output.ts';
import { PROXIES } from '../proxy-files/print/proxy-config.ts';
import { readServer } from '../proxy-files/proxy-address.ts';
import {
  type Answers,
  DEFAULT_ANSWERS,
  EXTRAS,
  type Extra,
  LOGIN_PATH,
} from '../proxy-files/setup/answers.ts';
import { namesApplication } from '../proxy-files/setup/setup.ts';
import { readNetworks } from './networks.ts';

/** An answer that the command line does not give is missing. A given `login`, `front` or `redis` may be undefined. */
export type Given = Partial<Answers> & Pick<Answers, 'ports'>;

/** A file of the proxy in the folder, which `hasConfiguration` finds, also decides. */
export function withDefaults(given: Given, hasConfiguration: (proxy: string) => boolean): Answers {
  const proxy = given.proxy ?? likelyProxy(hasConfiguration);
  return { ...DEFAULT_ANSWERS, proxy, existing: hasConfiguration(proxy), ...given };
}

function likelyProxy(hasConfiguration: (proxy: string) => boolean): string {
  return PROXIES.find(hasConfiguration) ?? DEFAULT_ANSWERS.proxy;
}

/** Asks for what the command line does not give. An answer that does not fit is asked for again. */
export async function askAnswers(
  prompt: Prompt,
  given: Given,
  hasConfiguration: (proxy: string) => boolean,
): Promise<Answers> {
  const answered = async <Name extends keyof Answers>(
    name: Name,
    question: Question<Answers[Name]>,
  ): Promise<Answers[Name]> =>
    name in given ? (given[name] as Answers[Name]) : answerTo(prompt, question);
  const proxy = await answered('proxy', {
    text: 'Which proxy stands in front of your application?',
    choices: PROXIES,
    fallback: likelyProxy(hasConfiguration),
    read: oneOf(PROXIES),
  });
  const existing = await answered('existing', {
    text: 'Does it have a configuration already, to which headgate is added?',
    fallback: hasConfiguration(proxy) ? 'yes' : 'no',
    read: readYes,
  });
  let { application } = { ...DEFAULT_ANSWERS, ...given };
  if (namesApplication({ proxy, existing }))
    application = await answered('application', {
      text: 'Where does your application listen?',
      fallback: '127.0.0.1:3000',
      read: readServer,
    });
  const login = await answered('login', {
    text: 'Which path do clients log in at? A path, or no',
    fallback: LOGIN_PATH,
    read: (typed) => (isNo(typed) ? undefined : readPath(typed)),
  });
  const front = 'front' in given ? given.front : await askFront(prompt);
  const keys = await answered('keys', {
    text: 'Do clients send API keys, in the header x-api-key?',
    fallback: 'no',
    read: readYes,
  });
  const redis = await answered('redis', {
    text: 'Redis, if several gateways share their counters: its URL, or no',
    fallback: 'no',
    read: readRedis,
  });
  const extras = await answered('with', {
    text: 'Write a file to run it, too: compose, systemd, both, or no?',
    fallback: 'no',
    read: readExtras,
  });
  const { ownPort, ports } = given;
  const where = { proxy, existing, application, ownPort, ports };
  return { ...where, login, front, keys, redis, with: extras };
}

async function askFront(prompt: Prompt): Promise<Answers['front']> {
  const kind = await answerTo(prompt, {
    text: 'What do clients connect to before this proxy?',
    choices: FRONTS,
    fallback: 'none',
    read: oneOf(FRONTS),
  });
  if (kind === 'none') return undefined;
  if (kind === 'cloudflare') return { kind };
  const networks = await answerTo(prompt, {
    text: 'Addresses of the load balancer, as CIDR ranges such as 10.1.0.0/16',
    fallback: '',
    read: readNetworks,
  });
  return { kind: 'load-balancer', networks };
}

export const FRONTS = ['none', 'cloudflare', 'load-balancer'] as const;

export async function askToOverwrite(prompt: Prompt, names: readonly string[]): Promise<boolean> {
  const [exist, them] = names.length === 1 ? ['exists', 'it'] : ['exist', 'them'];
  return answerTo(prompt, {
    text: `${names.join(', ')} ${exist} already. Overwrite ${them}?`,
    fallback: 'no',
    read: readYes,
  });
}

interface Question<T> {
  readonly text: string;
  readonly choices?: readonly string[];
  /** It stands for an empty line. If it is empty, there is no default. */
  readonly fallback: string;
  /** Throws an Error whose message says what is wrong. */
  readonly read: (typed: string) => T;
}

async function answerTo<T>(
  prompt: Prompt,
  { text, choices, fallback, read }: Question<T>,
): Promise<T> {
  const among = choices === undefined ? '' : ` (${choices.join(', ')})`;
  const byDefault = fallback === '' ? '' : ` [${fallback}]`;
  for (;;) {
    const typed = (await prompt.ask(`${text}${among}${byDefault} `)).trim();
    try {
      return read(typed === '' ? fallback : typed);
    } catch (error) {
      say(`  ${(error as Error).message}`);
    }
  }
}

function oneOf<T extends string>(names: readonly T[]): (typed: string) => T {
  return (typed) => {
    const found = names.find((name) => name === typed.toLowerCase());
    if (found === undefined) throw new RangeError(`Type one of ${names.join(', ')}.`);
    return found;
  };
}

function readYes(typed: string): boolean {
  if (/^y(es)?$/i.test(typed)) return true;
  if (/^no?$/i.test(typed)) return false;
  throw new RangeError('Type yes or no.');
}

function isNo(typed: string): boolean {
  return /^no?(ne)?$/i.test(typed);
}

export function readPath(typed: string): string {
  if (/^(\/[\w.~-]+)+$/.test(typed)) return typed;
  throw new RangeError(
    'It must be a path such as /account/login, of letters, digits and - . _ ~ between slashes.',
  );
}

function readRedis(typed: string): string | undefined {
  if (isNo(typed)) return undefined;
  parseRedisUrl(typed);
  return typed;
}

function readExtras(typed: string): readonly Extra[] {
  if (isNo(typed)) return [];
  if (/^both$/i.test(typed)) return EXTRAS;
  return [oneOf<Extra>(EXTRAS)(typed)];
}
