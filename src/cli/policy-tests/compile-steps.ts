/** Looks up what the steps of a test name, and computes when each of them happens. */
import { hint } from '../../gateway/config/closest-word.ts';
import type { DiagnosticDraft, Path, Place, Rule } from '../../gateway/config/diagnostic.ts';
import { everyLimit } from '../../gateway/core/policy.ts';
import type { Expectation } from './expectation-schema.ts';
import { type OverrideFacts, overrideMistakes } from './override-mistakes.ts';
import { headersOf, type Moment, type SendStep, type Step } from './policy-test.ts';
import type { WrittenOverride, WrittenSettle, WrittenStep } from './step-schema.ts';
import type { TestedPolicies } from './tested-policies.ts';
import { durationText, MAX_DURATION_MS } from './values-schema.ts';

export interface ReadStep {
  readonly written: WrittenStep;
  readonly keys: readonly string[];
  readonly path: Path;
  readonly place: Place;
}

export interface StepContext extends Omit<OverrideFacts, 'isDown'> {
  /** Reads the policy file of a reload. Reports at the path if it cannot be read. */
  readPolicies(name: string, path: Path): TestedPolicies | undefined;
  report(mistake: DiagnosticDraft): void;
}

const ACTIONS = ['send', 'settle', 'store', 'reload', 'override'] as const;
const ONLY_WITH_SEND = 'client host headers metadata times every as expect'.split(' ');

interface UsedName {
  readonly name: string;
  readonly known: readonly string[];
  /** What it should be the name of. */
  readonly what: string;
  /** What is said if no known name is similar. */
  readonly others: string;
}

export function compileSteps(steps: readonly ReadStep[], context: StepContext): Step[] {
  const reader = new StepReader(context);
  return steps.flatMap((step) => reader.read(step) ?? []);
}

class StepReader {
  readonly #context: StepContext;
  /** Undefined for a step with mistakes. */
  readonly #named = new Map<string, SendStep | undefined>();
  #policies: TestedPolicies | undefined;
  #endMs = 0;
  #isStoreDown = false;

  constructor(context: StepContext) {
    this.#context = context;
    this.#policies = context.policies;
  }

  read(step: ReadStep): Step | undefined {
    const { written, keys, path } = step;
    const given = ACTIONS.filter((action) => keys.includes(action));
    const [action] = given;
    if (action === undefined) {
      const message = 'must have one of send, settle, store, reload and override';
      return this.#report(path, message, 'missing-key');
    }
    if (given.length > 1 && given.join() !== 'send,settle') {
      return this.#report(path, `has ${given.join(' and ')}, make each of them a step`);
    }
    const moment = { place: step.place, atMs: this.#startOf(step) };
    if (action === 'send') {
      const sent = this.#send(step, moment);
      if (written.as !== undefined) this.#addName(written.as, sent, [...path, 'as']);
      return sent;
    }
    for (const key of ONLY_WITH_SEND.filter((each) => keys.includes(each))) {
      this.#report([...path, key], 'is only for a step with send');
    }
    if (written.settle !== undefined) {
      return this.#settle(written.settle, [...path, 'settle'], moment);
    }
    if (written.store !== undefined) {
      this.#isStoreDown = written.store === 'down';
      return { ...moment, kind: 'store', isDown: this.#isStoreDown };
    }
    if (written.override !== undefined) {
      return this.#override(written.override, [...path, 'override'], moment);
    }
    this.#policies = this.#context.readPolicies(written.reload ?? '', [...path, 'reload']);
    return this.#policies && { ...moment, kind: 'reload', policies: this.#policies };
  }

  #startOf({ written: { at, every = 0, times }, path }: ReadStep): number {
    const startMs = at ?? this.#endMs;
    if (startMs < this.#endMs) {
      const end = durationText(this.#endMs);
      this.#report([...path, 'at'], `is before ${end}, when the step before it ends`);
    }
    const endMs = startMs + (times - 1) * every;
    if (endMs > MAX_DURATION_MS) {
      this.#report(path, `must end at most ${durationText(MAX_DURATION_MS)} after the start`);
    }
    this.#endMs = Math.max(this.#endMs, endMs);
    return startMs;
  }

  #addName(name: string, step: SendStep | undefined, path: Path): void {
    if (this.#named.has(name)) this.#report(path, 'is the name of an earlier step, choose another');
    this.#named.set(name, step);
  }

  #settle(settle: WrittenSettle, path: Path, moment: Moment): Step | undefined {
    const of = this.#find(settle.of, path);
    this.#checkUnits(settle, path);
    return of && { ...moment, kind: 'settle', of, settle };
  }

  #find(name: string | undefined, path: Path): SendStep | undefined {
    if (name === undefined) {
      const message =
        'must have of, the name that an earlier step with send has from as, or be in a step with send';
      return this.#report(path, message);
    }
    const known = [...this.#named.keys()];
    const others = known.length === 0 ? 'give it one with as' : `known are ${known.join(', ')}`;
    this.#checkKnown({ name, known, what: 'the name of an earlier step', others }, [...path, 'of']);
    return this.#named.get(name);
  }

  /** A gateway ignores units that no limit has. */
  #checkUnits({ units = new Map() }: WrittenSettle, path: Path): void {
    if (this.#policies === undefined) return;
    const { file, set } = this.#policies;
    const limits = set.policies.flatMap(everyLimit);
    const known = [...new Set(limits.flatMap(({ afterwards }) => afterwards?.unit ?? []))];
    const others = `it has ${known.join(', ') || 'none'}`;
    for (const name of units.keys()) {
      this.#checkKnown({ name, known, what: `a unit of ${file}`, others }, [
        ...path,
        'units',
        name,
      ]);
    }
  }

  #send({ written, keys, path }: ReadStep, moment: Moment): SendStep | undefined {
    const { send, client: name, host, headers = {}, times, every = 0, expect } = written;
    const { settle, metadata } = written;
    if (settle !== undefined) {
      this.#checkUnits(settle, [...path, 'settle']);
      if (settle.of !== undefined) {
        this.#report([...path, 'settle', 'of'], 'is only for a step without send');
      }
    }
    const { setting, clientNames } = this.#context;
    if (keys.includes('every') && times === 1) {
      this.#report([...path, 'every'], 'needs times, at least 2');
    }
    if (expect === undefined) {
      const message = 'is missing, it must be allow, deny, or a map such as { verdict: deny }';
      this.#report([...path, 'expect'], message, 'missing-key');
    } else this.#checkPolicies(expect, [...path, 'expect']);
    if (name === undefined) {
      const message = 'is missing, it must be a name under clients';
      this.#report([...path, 'client'], message, 'missing-key');
    } else {
      const others = `known are ${clientNames.join(', ')}`;
      const named = { name, known: clientNames, what: 'a client of this file', others };
      this.#checkKnown(named, [...path, 'client']);
    }
    const client = setting.clients.get(name ?? '');
    if (!send || !name || !client || !expect) return undefined;
    const request = { line: send, sender: name, client, headers: headersOf(headers, host) };
    return {
      ...{ ...moment, kind: 'send', ...request, times, everyMs: every, expect },
      metadata,
      settle,
    };
  }

  #checkPolicies({ not, policy, would_deny }: Expectation, path: Path): void {
    this.#checkPolicy(policy, [...path, 'policy']);
    this.#checkPolicy(would_deny, [...path, 'would_deny']);
    if (not !== undefined) this.#checkPolicies(not, [...path, 'not']);
  }

  #checkPolicy(name: string | undefined, path: Path): void {
    if (name === undefined || name === 'none' || this.#policies === undefined) return;
    const { file, set } = this.#policies;
    const known = set.policies.map((each) => each.name);
    const others = `it has ${known.join(', ')}`;
    this.#checkKnown({ name, known, what: `a policy of ${file}`, others }, path);
  }

  #override(change: WrittenOverride, path: Path, moment: Moment): Step | undefined {
    for (const policy of ['restore', 'mode'] as const) {
      const given = change[policy];
      if (typeof given === 'object') this.#checkPolicy(given.policy, [...path, 'mode', 'policy']);
      else this.#checkPolicy(given, [...path, policy]);
    }
    const { setting, clientNames } = this.#context;
    const facts = { setting, clientNames, policies: this.#policies, isDown: this.#isStoreDown };
    const mistakes = overrideMistakes(change, path, facts);
    for (const mistake of mistakes) this.#context.report(mistake);
    return mistakes.length > 0 ? undefined : { ...moment, kind: 'override', change };
  }

  #checkKnown({ name, known, what, others }: UsedName, path: Path): void {
    if (known.includes(name)) return;
    this.#report(path, `is not ${what}${hint(name, known) || `, ${others}`}`);
  }

  #report(path: Path, message: string, rule: Rule = 'invalid-value'): undefined {
    this.#context.report({ rule, path, message });
  }
}
