/** `headgate explain`: what would be made of a request, and why. */
import { Command, InvalidArgumentError } from 'commander';
import { readEnvironment } from '../config/environment.ts';
import { openPolicySource } from '../config/policy-source.ts';
import { type AskedAbout, type Explanation, explain, untouched } from '../explanation.ts';

interface ExplainFlags extends Omit<AskedAbout, 'headers'> {
  readonly policies?: string;
  readonly header: AskedAbout['headers'];
  readonly output: 'text' | 'json';
}

export function explainCommand(): Command {
  return new Command('explain')
    .description('say which policies and limits a request meets, who it counts for, and why')
    .requiredOption('--url <url>', "path or URL, as the client sends it: '/api//auth/LOGIN'")
    .option('--policies <file>', 'policy file (HEADGATE_POLICIES)')
    .option('--method <method>', 'of the request', 'GET')
    .option(
      '-H, --header <header>',
      "of the request, as 'name: value'; again for more",
      addHeader,
      [],
    )
    .option('--peer <address>', 'who connected to the proxy')
    .option('--client <address>', 'who the proxy takes the client to be')
    .option('--proxy <address>', 'who asks the gateway', '127.0.0.1')
    .option('-o, --output <format>', 'text or json', readOutput, 'text')
    .action(run);
}

async function run({ policies, header, output, ...asked }: ExplainFlags): Promise<void> {
  const environment = readEnvironment(process.env);
  const source = openPolicySource({ ...environment, policies: policies ?? environment.policies });
  const circumstances = untouched(source.current, Date.now());
  const explanation = await explain({ ...asked, headers: header }, circumstances);
  console.log(output === 'json' ? JSON.stringify(explanation, null, 2) : textOf(explanation));
}

function textOf({ steps, answer }: Explanation): string {
  const lines = [
    ...steps.map(({ about, what }) => [about, what] as const),
    ['answer', `${answer.status}, when nothing was counted before`] as const,
    ...pairs(answer.headers).map(([name, value]) => ['answer', `${name}: ${value}`] as const),
    ...(answer.body === '' ? [] : [['answer', answer.body] as const]),
  ];
  // A subject is named once.
  return lines
    .map(([about, what], i) => `${(about === lines[i - 1]?.[0] ? '' : about).padEnd(10)}${what}`)
    .join('\n');
}

function pairs(headers: readonly string[]): [string, string][] {
  return headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] ?? '']] : []));
}

function addHeader(text: string, before: AskedAbout['headers']): AskedAbout['headers'] {
  const colon = text.indexOf(':');
  if (colon < 1)
    throw new InvalidArgumentError("It is a name, a colon and a value: 'x-api-key: alice'.");
  return [...before, [text.slice(0, colon).trim(), text.slice(colon + 1).trim()]];
}

function readOutput(text: string): 'text' | 'json' {
  if (text === 'text' || text === 'json') return text;
  throw new InvalidArgumentError('It is text or json.');
}
