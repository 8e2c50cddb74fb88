import {
  type DiagnosticDraft,
  type Rule as DiagnosticRule,
  type Path,
  RULES,
} from '../../config/diagnostic.ts';

/** Applies to each severity. More would take long to place, and nobody corrects more at a time. */
const MAX_FINDINGS = 1_000;

export class Findings {
  readonly #errors: DiagnosticDraft[] = [];
  readonly #others: DiagnosticDraft[] = [];

  constructor(remarks: readonly DiagnosticDraft[] = []) {
    for (const remark of remarks) this.#keep(remark);
  }

  add(rule: DiagnosticRule, path: Path, message: string): void {
    this.#keep({ rule, path, message });
  }

  /** Whether further errors are dropped. */
  get isFull(): boolean {
    return this.#errors.length >= MAX_FINDINGS;
  }

  get drafts(): readonly DiagnosticDraft[] {
    return [...this.#errors, ...this.#others];
  }

  #keep(draft: DiagnosticDraft): void {
    const kept = RULES[draft.rule].severity === 'error' ? this.#errors : this.#others;
    if (kept.length < MAX_FINDINGS) kept.push(draft);
  }
}

export class Budget {
  static readonly MAX_DESCRIPTORS = 1_000_000;
  #left = Budget.MAX_DESCRIPTORS;

  /** False if there were too many descriptors, or names that they replace. */
  take(): boolean {
    return this.#left-- > 0;
  }

  get isSpent(): boolean {
    return this.#left < 0;
  }
}
