/** The options that every benchmark of servers takes. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const USAGE = `Options:
  --against PATH   another checkout, whose gateway takes turns with that of this one; may be given several times
  --processes N    how many processes of each server are started, one after the other
  --rounds N       how many turns each process takes
  --seconds N      how long a turn is
  --rate N         requests per second of an open loop
  --only PATTERN   only servers whose names match, and empty ones
Names of tables: print only these.`;

const number = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  if (!(Number(text) > 0)) fail(`"${text}" is not a number above 0.`);
  return Number(text);
};

function fail(mistake: string): never {
  console.error(`${mistake}\n${USAGE}`);
  process.exit(2);
}

function parsed() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        against: { type: 'string', multiple: true, default: [] },
        processes: { type: 'string' },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        rate: { type: 'string' },
        only: { type: 'string', default: '' },
      },
    });
  } catch (error) {
    return fail((error as Error).message);
  }
}

const { values, positionals } = parsed();

export const OPTIONS = {
  /** Paths of checkouts. */
  against: values.against.map((path) => resolve(path)),
  processes: number(values.processes),
  rounds: number(values.rounds),
  seconds: number(values.seconds),
  rate: number(values.rate),
  /** Matches the names of the servers that take part. */
  only: new RegExp(values.only),
} as const;

/** Prints the tables that the command line names, one after the other; without names all of them. */
export async function printTables(tables: Readonly<Record<string, () => Promise<void>>>) {
  const unknown = positionals.find((name) => !Object.hasOwn(tables, name));
  if (unknown !== undefined) {
    fail(`There is no table "${unknown}". The tables are ${Object.keys(tables).join(', ')}.`);
  }
  for (const [name, print] of Object.entries(tables)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    console.log(`#### ${name}\n`);
    await print();
    console.log();
  }
}
