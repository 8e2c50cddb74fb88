/** Looks up what a step settles, and finds units that no limit has: a gateway ignores those. */
import { hint } from '../../gateway/config/closest-word.ts';
import type { Path } from '../../gateway/config/diagnostic.ts';
import { everyLimit } from '../../gateway/core/policy.ts';
import type { ReportedOutcome, SendStep } from './policy-test.ts';
import type { WrittenSettle } from './step-schema.ts';
import type { TestedPolicies } from './tested-policies.ts';

/** Reports a mistake at a path. */
type Report = (path: Path, message: string) => undefined;

export function reportedOutcome({
  status,
  headers = {},
  units = {},
  result,
}: WrittenSettle): ReportedOutcome {
  const outcome = {
    status,
    headers: new Map(Object.entries(headers)),
    units: new Map(Object.entries(units)),
  };
  return { outcome, result };
}

/** Why a unit that a step reports is a mistake. Undefined if a limit counts it. */
export function unitMistake(unit: string, { file, set }: TestedPolicies): string | undefined {
  const limits = set.policies.flatMap(everyLimit);
  const known = [...new Set(limits.flatMap(({ afterwards }) => afterwards?.unit ?? []))];
  if (known.includes(unit)) return undefined;
  const others = known.length === 0 ? ', it has none' : `, it has ${known.join(', ')}`;
  return `is not a unit of ${file}${hint(unit, known) || others}`;
}

/** The steps of a test that have a name. */
export class NamedSteps {
  readonly #steps = new Map<string, SendStep | undefined>();
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  /** `step` is undefined if it has mistakes. */
  add(name: string, step: SendStep | undefined, path: Path): void {
    if (this.#steps.has(name)) this.#report(path, 'is the name of an earlier step, choose another');
    this.#steps.set(name, step);
  }

  /** Undefined if there is none without mistakes. */
  find(name: string | undefined, path: Path): SendStep | undefined {
    const names = [...this.#steps.keys()];
    if (name === undefined) {
      const message =
        'must have of, the name that an earlier step with send has from as, or be in a step with send';
      return this.#report(path, message);
    }
    if (this.#steps.has(name)) return this.#steps.get(name);
    const others = names.length === 0 ? ', give it one with as' : `, known are ${names.join(', ')}`;
    const message = `is not the name of an earlier step${hint(name, names) || others}`;
    return this.#report([...path, 'of'], message);
  }
}
