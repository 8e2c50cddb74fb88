import { Command } from 'commander';
import { VERSION } from '../gateway/config/shipped-files.ts';
import { addHelp, nameOf } from './help.ts';
import { complain, linesIn, say } from './output/output.ts';
import { reportFailure } from './output/report-failure.ts';

/** Commander repeats what was typed. In a script, that may be text of others, so it is printed with escapes. */
const OUTPUT = {
  writeOut: (text: string) => say(linesIn(text)),
  writeErr: (text: string) => complain(linesIn(text)),
};

const VERSION_FLAGS = ['-V', '--version'];
const SERVE = 'serve';

/** A command is loaded only if it runs, because some take longer to load than others to run. `--help` lists them in this order. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve/serve-command.ts')).serveCommand(),
  demo: async () => (await import('./demo/demo-command.ts')).demoCommand(),
  init: async () => (await import('./init/init-command.ts')).initCommand(),
  doctor: async () => (await import('./doctor/doctor-command.ts')).doctorCommand(),
  check: async () => (await import('./check/check-command.ts')).checkCommand(),
  test: async () => (await import('./test/test-command.ts')).testCommand(),
  explain: async () => (await import('./explain/explain-command.ts')).explainCommand(),
  replay: async () => (await import('./replay/replay-command.ts')).replayCommand(),
  suggest: async () => (await import('./suggest/suggest-command.ts')).suggestCommand(),
  import: async () => (await import('./import/import-command.ts')).importCommand(),
  clients: async () => (await import('./clients/clients-command.ts')).clientsCommand(),
  policies: async () => (await import('./policies/policies-command.ts')).policiesCommand(),
  overrides: async () => (await import('./overrides/overrides-command.ts')).overridesCommand(),
  log: async () => (await import('./log/log-command.ts')).logCommand(),
  stats: async () => (await import('./stats/stats-command.ts')).statsCommand(),
  top: async () => (await import('./top/top-command.ts')).topCommand(),
  'proxy-config': async () =>
    (await import('./proxy-config/proxy-config-command.ts')).proxyConfigCommand(),
  keys: async () => (await import('./keys/keys-command.ts')).keysCommand(),
  key: async () => (await import('./key/key-command.ts')).keyCommand(),
  completion: async () =>
    (await import('./completion/completion-command.ts')).completionCommand(createProgram),
  ratelimit: async () => (await import('./ratelimit/ratelimit-command.ts')).ratelimitCommand(),
  healthcheck: async () =>
    (await import('./healthcheck/healthcheck-command.ts')).healthcheckCommand(),
  schema: async () => (await import('./schema/schema-command.ts')).schemaCommand(),
};

export async function run(argv: readonly string[]): Promise<void> {
  try {
    const program = await createProgram(commandsFor(argv[2]));
    await program.parseAsync(argv);
  } catch (error) {
    process.exitCode = reportFailure(error);
  }
}

/** The commands that a command line needs, by its first word: one, none, or all if they may be listed. */
function commandsFor(word = SERVE): string[] {
  if (Object.hasOwn(COMMANDS, word)) return [word];
  return VERSION_FLAGS.includes(word) ? [] : Object.keys(COMMANDS);
}

/** Its commands throw a CommanderError where commander would end the process. */
export async function createProgram(names = Object.keys(COMMANDS)): Promise<Command> {
  const program = new Command('headgate')
    .description('External-authorization rate-limit gateway')
    .version(VERSION, VERSION_FLAGS.join(', '));
  for (const name of names) {
    const command = await COMMANDS[name]?.();
    if (command !== undefined) program.addCommand(command, { isDefault: name === SERVE });
  }
  for (const command of everyCommand(program)) {
    command.exitOverride().configureOutput(OUTPUT);
    addHelp(command);
    if (command.commands.length > 0) command.showHelpAfterError(`See ${nameOf(command)} --help`);
  }
  return program;
}

export function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
