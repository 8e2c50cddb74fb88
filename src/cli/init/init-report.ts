import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownCommand } from '../output/own-command.ts';
import { columns } from '../output/table.ts';
import { type Answers, LOGINS, POLICY_FILE } from '../proxy-files/setup/answers.ts';
import { REDIS_SETTING } from '../proxy-files/setup/gateway-settings.ts';
import { type NextSteps, nextSteps, shellQuoted } from '../proxy-files/setup/next-steps.ts';
import { REQUESTS } from '../proxy-files/setup/policy-file.ts';
import type { SetupFile } from '../proxy-files/setup/setup.ts';

export function initReport(
  folder: string,
  files: readonly SetupFile[],
  answers: Answers,
): string[] {
  const headgate = ownCommand();
  const steps = nextSteps(answers, headgate);
  const isHere = resolve(folder) === process.cwd();
  const there = isHere ? [] : [`  cd ${shellQuoted(resolve(folder))}`];
  const needsRedis = answers.redis !== undefined && !steps.serve.includes(REDIS_SETTING);
  return [
    '',
    `Written to ${resolve(folder)}:`,
    ...columns(files.map(({ name, purpose }) => [`  ${name}`, purpose])),
    '',
    ...limitsOf(answers),
    '',
    `Start the gateway${needsRedis ? `, with ${REDIS_SETTING} set to the URL of your Redis` : ''}:`,
    ...there,
    `  ${steps.serve}`,
    ...(answers.existing ? additions(answers, steps) : startOfProxy(answers, steps, there)),
    '',
    ...(answers.proxy === 'envoy' && answers.front?.kind === 'load-balancer' ? [HOPS] : []),
    `Then choose your limits in policies.yaml, and correct its tests: ${headgate} test policies_test.yaml`,
  ];
}

function startOfProxy(
  { proxy, login }: Answers,
  steps: NextSteps,
  there: readonly string[],
): readonly string[] {
  return [
    `Start ${proxy === 'nginx' ? 'NGINX, as root' : 'the proxy'}, in a second terminal:`,
    ...there,
    `  ${steps.proxy}`,
    login === undefined
      ? 'Send a request, in a third one. Each has a lower X-RateLimit-Remaining:'
      : 'Send six logins, in a third one. The sixth is answered with 429:',
    `  ${steps.curl}`,
  ];
}

const HOPS =
  'Let only the load balancer connect to Envoy: Envoy believes the X-Forwarded-For of everyone who connects.';
const PAGES = fileURLToPath(new URL('../../../docs/quickstart', import.meta.url));

function limitsOf({ login }: Answers): readonly string[] {
  if (login === undefined)
    return [`Each client gets ${REQUESTS} requests in a minute: default in ${POLICY_FILE}.`];
  return [
    `POST ${login} gets ${LOGINS} requests in 5 minutes from each client: policy login in ${POLICY_FILE}.`,
    'If clients log in elsewhere, run init again with --login PATH, or with --no-login.',
  ];
}

function additions({ proxy, front }: Answers, { includes, ...steps }: NextSteps): string[] {
  const page = `${PAGES}/${proxy.replace('-grpc', '')}.md`;
  return [
    ...(includes.length === 0
      ? ['Put the parts into your configuration. Each says where it goes, as shown in', `  ${page}`]
      : [
          'Add to your configuration, with the files beside it, as shown in',
          `  ${page}`,
          ...columns(includes.map(({ line, goes }) => [`  ${line}`, goes])),
        ]),
    ...(front === undefined
      ? []
      : ['Your proxy must know the address of the client: see docs/recipes, behind-*.md.']),
    ...(steps.examine === '' ? [] : ['Examine it before you reload it:', `  ${steps.examine}`]),
    ...(steps.proxy === '' ? ['Reload the proxy.'] : ['Reload it:', `  ${steps.proxy}`]),
    'See what a client sees, with the address of your site:',
    `  ${steps.doctor}`,
  ];
}
