/** Adds to `--help` of each command: an example, and which options are required. */
import { type Command, Help, type Option } from 'commander';

const REASON = "--reason 'credential stuffing'";
const EXAMPLES: Readonly<Record<string, string>> = {
  'headgate serve': 'headgate serve --policies policies.yaml',
  'headgate demo': 'headgate demo --port 8000',
  'headgate init': 'headgate init --proxy nginx --application 127.0.0.1:3000 --yes',
  'headgate doctor':
    'headgate doctor --policies policies.yaml --proxy-file nginx.conf --through http://127.0.0.1:8000/',
  'headgate check': 'headgate check --strict policies.yaml',
  'headgate test': 'headgate test --coverage config',
  'headgate explain': "headgate explain --method POST --url '/api/auth/login' --peer 203.0.113.9",
  'headgate suggest': 'headgate suggest --holdout 1d -o yaml access.log > proposed.yaml',
  'headgate clients top': 'headgate clients top --limit 10',
  'headgate clients reset': 'headgate clients reset 5e0024918cef-1',
  'headgate clients block': `headgate clients block 203.0.113.9 --for 1h ${REASON}`,
  'headgate clients exempt': "headgate clients exempt 203.0.113.9 --for 1h --reason 'a load test'",
  'headgate clients unblock': 'headgate clients unblock 203.0.113.9',
  'headgate clients unexempt': 'headgate clients unexempt 203.0.113.9',
  'headgate policies list': 'headgate policies list',
  'headgate policies mode': "headgate policies mode login shadow --for 1h --reason 'a bad release'",
  'headgate policies restore': 'headgate policies restore login',
  'headgate overrides': 'headgate overrides',
  'headgate log set': "headgate log set --level debug --for 10min --reason 'a slow store'",
  'headgate log restore': 'headgate log restore',
  'headgate stats': 'headgate stats --gateway http://127.0.0.1:9464',
  'headgate top': 'headgate top --gateway http://127.0.0.1:9464',
  'headgate keys add': 'headgate keys add --id acme --plan pro --expires 90d',
  'headgate keys list': 'headgate keys list --limit 20',
  'headgate keys show': 'headgate keys show acme',
  'headgate keys change': 'headgate keys change acme --plan enterprise',
  'headgate keys rotate': 'headgate keys rotate acme --overlap 7d',
  'headgate keys revoke': 'headgate keys revoke acme --sha256 3fa4c1d20b77',
  'headgate keys import': 'headgate keys import - < keys.jsonl',
  'headgate key new': 'headgate key new --id acme --plan pro',
  'headgate completion': 'source <(headgate completion bash)',
  'headgate healthcheck': 'headgate healthcheck',
  'headgate schema': 'headgate schema > policies.schema.json',
};

const SETTINGS =
  '\nSettings come from the environment (HEADGATE_*). docs/configuration.md lists them.';

export function addHelp(command: Command): void {
  const plain = new Help();
  command.configureHelp({
    optionDescription: (option: Option) =>
      `${plain.optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
  });
  const name = nameOf(command);
  if (name === 'headgate serve') command.addHelpText('after', SETTINGS);
  const example = EXAMPLES[name];
  if (example !== undefined) command.addHelpText('after', `\nExample:\n  ${example}`);
}

/** `headgate clients top` */
export function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}
