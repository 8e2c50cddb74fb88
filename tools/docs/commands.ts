/** docs/commands.md, made from the commands of the program. */
import type { Argument, Command, Option } from 'commander';
import { EXIT_CODES } from '../../src/cli/output/exit-codes.ts';
import { everyCommand } from '../../src/cli/program.ts';
import { code, fenced, prose, table } from './markdown.ts';

const HEAD = `# Commands

In a clone, after \`npm ci\`: \`alias headgate="$PWD/bin/headgate.cjs"\`. It works in every folder.
\`--help\` after a command prints its options. Without a command, headgate runs \`serve\`.

All commands read their settings from the environment, see [configuration](configuration.md). An option takes precedence over the setting that its description names.
`;

/** Notes that the help text of a command does not have. */
const NOTES: Readonly<Record<string, string>> = {
  'headgate serve':
    '[Signals](running.md#signals) stop it, reload its files and replace its workers.\n',
  'headgate demo': 'Counts in memory and ignores the settings of the environment.\n',
  'headgate init': `On a terminal, it asks for what the options do not say. Every question has a default; only the addresses of a load balancer have none. If the folder has a configuration of the proxy that headgate has not written, \`--existing\` is the default, also with \`--yes\`. Existing files are overwritten only after a yes, or with \`--force\`. Ctrl+C writes nothing.

| file | what it is |
| --- | --- |
| \`policies.yaml\` | limits of 300 requests a minute, and of 5 logins in 5 minutes; passes \`headgate check --strict\` |
| \`policies_test.yaml\` | tests that cover every limit |
| \`nginx.conf\`, \`envoy.yaml\`, \`envoy-grpc.yaml\`, \`Caddyfile\`, \`haproxy.cfg\` and \`headgate.lua\`, or \`dynamic.yaml\` and \`traefik.yaml\` | the proxy on port 8000, as \`headgate proxy-config\` writes it; behind Cloudflare or a load balancer with the settings for the client's address |
| \`headgate-http.conf\`, \`headgate-server.conf\` and \`headgate-location.conf\` (NGINX), \`headgate-global.caddy\` and \`headgate.caddy\` (Caddy), \`headgate-parts.cfg\` and \`headgate.lua\` (HAProxy), \`headgate-parts.yaml\` (Envoy), or \`headgate-parts.yaml\` and \`headgate-traefik.yaml\` (Traefik) | with \`--existing\`, in place of the line above: what to add to the configuration of the proxy |
| \`compose.yaml\`, \`headgate.service\` | with \`--with compose\` or \`--with systemd\` |

If the application has a port that headgate or the proxy would use, they get another one. A Redis URL with a password is written nowhere.

${fenced('sh', 'headgate init --proxy caddy --application 127.0.0.1:5000 --behind cloudflare --keys --yes site')}`,
  'headgate doctor': '[doctor.md](doctor.md) lists what it finds.\n',
  'headgate check':
    '[check.md](check.md) lists the rules. Without files, it checks the policy file that `serve` reads; with `--redis` and no files, it checks only Redis.\n',
  'headgate explain': `Nothing is counted. Without \`--live\` and \`--gateway\`, it needs only the policy file and shows the answer to a first request.

${fenced('sh', "headgate explain --method POST --url '/api//auth/LOGIN' -H 'cf-connecting-ip: 203.0.113.9' --peer 173.245.48.5")}`,
  'headgate test': `[Testing policies](testing-policies.md) explains the files. A failed test is shown with what was expected, what came, and how the request was decided.

${fenced('sh', 'headgate test --coverage --min-coverage 100 config')}`,
  'headgate replay': `[Choosing limits](choosing-limits.md) shows how to use it, and [log formats](log-formats.md) what it reads. Ctrl+C ends the reading and prints what is known so far. What a log cannot tell is "not evaluated", never "0 denied".

${fenced('sh', 'headgate replay access.log.1.gz access.log --policies new.yaml --against policies.yaml --html replay.html')}`,
  'headgate suggest': `Clients are told apart by \`identity\`, as a gateway does. Limits rest on the peaks of clients that are no bots: for each client and day, the most requests in any window of 1 s, 10 s, 1 min, 5 min and 1 h. Bots are recognized by their user agent or, less surely, by mostly 4xx answers, regular requests, more than 18 active hours in a day, or hundreds of pages in a browser without their assets. The name of a library that apps use, such as okhttp, CFNetwork, Dart or Alamofire, makes no bot; python-requests, Go and curl do. An address with five user agents or more counts as shared by several people.

Without \`--policies\`, routes are the paths that people use. Identifiers, languages (\`/de\`, \`/en-us\`) and small sets of values (\`/shop/men\`, \`/shop/women\`) become parameters. Paths that only get 4xx answers are no routes. A note says how many requests were for paths that are too many to keep.

| step | how |
| --- | --- |
| floor | an upper bound, with 95 % confidence, on the p99.9 of these peaks; it takes 2,995 client-days. With 299 client-days p99, with 59 p95, with 29 p90; with fewer, there is not enough evidence. |
| limit | 1.5 times the floor, or more, up to 3 times, if peaks go on above it without a twofold gap; at least 1.5 times the highest peak of a shared address, but at most 15 times the floor of single clients; rounded up to 1, 1.5, 2, 3 or 5 times a power of ten |
| windows | a minute and an hour; in a short log the longest that it shows twice; a limit that another one always reaches first is left out |
| choices | three to five, each counted on the log by the code that counts in a gateway |

Limits per client do not stop an attack from many addresses that are slow each: [bench/suggest.ts](../bench/README.md#do-suggested-limits-stop-attacks-and-leave-people-alone-suggestts) shows what they stop. Bots that are recognized do not move the limits. Clients that look like people do not either, if they are very few and their peaks are at least four times as high as those below them. The certainty is low if the limits deny clients of the days held out or many bots by name, or rest on a few clients far above the others.\n`,
  'headgate completion': `The script is complete: it starts no headgate when you press Tab. Write it again after an update.

| shell | command |
| --- | --- |
| bash, with bash-completion | \`headgate completion bash > ~/.local/share/bash-completion/completions/headgate\` |
| zsh, with a folder of \`$fpath\` | \`headgate completion zsh > "\${fpath[1]}/_headgate"\` |
| fish | \`headgate completion fish > ~/.config/fish/completions/headgate.fish\` |
| bash or zsh, for this shell only | \`source <(headgate completion bash)\` |\n`,
  'headgate schema':
    'The repository has them as [`config/policies.schema.json`](../config/policies.schema.json) and [`config/policy-tests.schema.json`](../config/policy-tests.schema.json).\n',
};

export function commandReference(program: Command): string {
  const commands = everyCommand(program).filter((command) => command.parent !== null);
  return [
    HEAD,
    table(
      ['command', 'purpose'],
      commands.filter(isRun).map((command) => [linkTo(command), prose(command.description())]),
    ),
    ...commands.map(sectionOf),
    '## Exit codes\n',
    table(
      ['code', 'meaning'],
      Object.entries(EXIT_CODES).map(([number, meaning]) => [code(number), meaning]),
    ),
  ].join('\n');
}

/** Others only have commands below them. */
function isRun({ commands }: Command): boolean {
  return commands.length === 0;
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

function linkTo(command: Command): string {
  const name = nameOf(command);
  return `[${code(name)}](#${name.replaceAll(' ', '-')})`;
}

function sectionOf(command: Command): string {
  const help = command.createHelp();
  const given = help.visibleArguments(command);
  const options = optionsOf(command);
  return [
    `## ${nameOf(command)}\n`,
    `${sentence(command.description())}\n`,
    ...(isRun(command)
      ? [fenced('sh', usageOf(command))]
      : [
          command.commands
            .map((each) => `- ${linkTo(each)}: ${prose(each.description())}\n`)
            .join(''),
        ]),
    ...(given.length === 0
      ? []
      : [
          table(
            ['argument', 'meaning', 'default'],
            given.map((argument) => [
              code(help.argumentTerm(argument)),
              withChoices(argument),
              defaultOf(argument, argument.required),
            ]),
          ),
        ]),
    ...(options.length === 0
      ? []
      : [
          table(
            ['option', 'meaning', 'default'],
            options.map((option) => [
              code(option.flags),
              withChoices(option),
              defaultOf(option, option.mandatory),
            ]),
          ),
        ]),
    ...(NOTES[nameOf(command)] === undefined ? [] : [NOTES[nameOf(command)] ?? '']),
  ].join('\n');
}

/** As commander has it, with the options that must be there. */
function usageOf(command: Command): string {
  const help = command.createHelp();
  const options = optionsOf(command);
  const required = options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  const others = options.length > required.length ? ['[options]'] : [];
  return help
    .commandUsage(command)
    .replace('[options]', [...required, ...others].join(' '))
    .trim();
}

function optionsOf(command: Command): Option[] {
  const options = command.createHelp().visibleOptions(command);
  return options.filter(({ long }) => long !== '--help');
}

function withChoices({ description, argChoices }: Option | Argument): string {
  const choices = argChoices?.map(code).join(', ');
  const is = prose(description);
  return choices === undefined ? is : `${is}: ${choices}`;
}

function defaultOf(
  { defaultValue, defaultValueDescription }: Option | Argument,
  isRequired: boolean,
): string {
  if (isRequired) return '**required**';
  // What collects several begins empty.
  if (defaultValue === undefined || Array.isArray(defaultValue)) return '';
  return code(defaultValueDescription ?? String(defaultValue));
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${prose(text.slice(1))}.`;
}
