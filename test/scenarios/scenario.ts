/** What every scenario has in common: its long form, which `npm run prove -- NAME` runs. */

/** All options are numbers. */
interface ScenarioOption {
  readonly default: number;
  readonly least: number;
  readonly help: string;
}

export interface Scenario<Option extends string = string> {
  /** What it proves, in one line. */
  readonly proves: string;
  /** About how long, with the default options. */
  readonly takes: string;
  readonly options: Readonly<Record<Option, ScenarioOption>>;
  /** Prints its figures. Resolves to the expectations that were not met. */
  prove(values: Readonly<Record<Option, number>>): Promise<readonly string[]>;
}

/** Checks the type and infers the names of the options. */
export function defineScenario<Option extends string>(scenario: Scenario<Option>): Scenario {
  return scenario as unknown as Scenario;
}

/** Reads `--name number` pairs. Throws a RangeError that names the mistake. */
export function readOptions(
  options: Scenario['options'],
  args: readonly string[],
): Record<string, number> {
  const values = Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, option.default]),
  );
  for (let i = 0; i < args.length; i += 2) {
    const name = (args[i] ?? '').replace(/^--/, '');
    const option = options[name];
    if (option === undefined || !args[i]?.startsWith('--')) {
      throw new RangeError(`unknown option ${args[i]}`);
    }
    const value = Number(args[i + 1] ?? Number.NaN);
    if (!(value >= option.least)) {
      throw new RangeError(`--${name} must be a number of at least ${option.least}`);
    }
    values[name] = value;
  }
  return values;
}
