/**
 * Runs the long form of a scenario: `npm run prove -- NAME [--option number]`. Lists the scenarios without a name.
 * Exits with 1 if an expectation was not met, and with 2 after a usage error.
 */
import { readdirSync } from 'node:fs';
import { readOptions, type Scenario } from './scenario.ts';

const names = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort();

const [name, ...args] = process.argv.slice(2);
if (name === undefined) await list();
else if (!names.includes(name)) refuse(`unknown scenario ${name}; one of ${names.join(', ')}`);
else await run(await load(name));

async function load(scenario: string): Promise<Scenario> {
  return ((await import(`./${scenario}/prove.ts`)) as { readonly scenario: Scenario }).scenario;
}

async function list(): Promise<void> {
  console.log('npm run prove -- NAME [--option number]\n');
  for (const each of names) {
    const { proves, takes, options } = await load(each);
    console.log(`${each} (${takes}): ${proves}`);
    for (const [option, { help, default: value }] of Object.entries(options)) {
      console.log(`    --${option}  ${help}; default ${value}`);
    }
  }
}

async function run({ options, prove }: Scenario): Promise<void> {
  let values: Record<string, number>;
  try {
    values = readOptions(options, args);
  } catch (error) {
    refuse((error as Error).message);
    return;
  }
  const wrong = await prove(values);
  console.log();
  for (const each of wrong) console.log(`WRONG: ${each}`);
  console.log(wrong.length === 0 ? 'all expectations were met' : `${wrong.length} wrong`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}

function refuse(reason: string): void {
  console.error(reason);
  process.exitCode = 2;
}
