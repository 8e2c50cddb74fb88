/** The questions before an action: mode, reason, duration, and at last whether it shall be done. */
import { parseDuration } from '../../gateway/config/rate.ts';
import type { PolicyMode } from '../../gateway/core/policy.ts';
import type { Key } from './key.ts';

export interface Answers {
  readonly mode?: PolicyMode;
  /** Empty if the operator gave none. */
  readonly reason?: string;
  readonly for?: string;
}

export type ActionName = 'reset' | 'block' | 'exempt' | 'unblock' | 'unexempt' | 'mode' | 'restore';

/** What an action is about: `id` for the gateway, `name` for people. */
export interface Subject {
  readonly id: string;
  readonly name: string;
}

/** Questions about an action, and at last whether it shall be done. */
export interface Form {
  readonly action: ActionName;
  readonly subject: Subject;
  /** What should be known before it is confirmed. */
  readonly note?: string | undefined;
  readonly answers: Answers;
  readonly typed: string;
  /** What is wrong with the last answer. */
  readonly problem?: string | undefined;
}

type Question = keyof Answers;

const QUESTIONS: Readonly<Record<ActionName, readonly Question[]>> = {
  reset: ['reason'],
  block: ['reason', 'for'],
  exempt: ['reason', 'for'],
  unblock: [],
  unexempt: [],
  mode: ['mode', 'reason', 'for'],
  restore: [],
};
const MODES: Readonly<Record<string, PolicyMode>> = { e: 'enforce', s: 'shadow', o: 'off' };
const PROPOSED: Readonly<Partial<Record<Question, string>>> = { for: '30min' };
const LONGEST_REASON = 200;

/** What pressing a key makes of the form. */
export type FormStep = Form | 'done' | 'given up';

export function startForm(action: ActionName, subject: Subject, note?: string): Form {
  return asked({ action, subject, note, answers: {}, typed: '' });
}

/** Undefined when all are answered, and the operator shall confirm. */
export function questionOf({ action, answers }: Form): Question | undefined {
  return QUESTIONS[action].find((question) => answers[question] === undefined);
}

/** A reset lasts no time, so no list shows its reason. */
export function isOptional({ action }: Form, question: Question): boolean {
  return action === 'reset' && question === 'reason';
}

export function pressInForm(form: Form, key: Key): FormStep {
  if (key.name === 'escape') return 'given up';
  const question = questionOf(form);
  // Neither a second Enter nor pasted text does what was not read.
  if (question === undefined) return key.text === 'y' ? 'done' : 'given up';
  if (question === 'mode') {
    const mode = MODES[key.text];
    return mode === undefined ? form : answered(form, { mode });
  }
  if (key.name === 'return') return withTyped(form, question);
  return { ...form, typed: edited(form.typed, key), problem: undefined };
}

/** A line of text after a key. */
export function edited(text: string, { name, text: char }: Key): string {
  if (name === 'backspace') return [...text].slice(0, -1).join('');
  if (name === 'ctrl-u') return '';
  return [...text].length < LONGEST_REASON ? text + char : text;
}

function withTyped(form: Form, question: 'reason' | 'for'): Form {
  const typed = form.typed.trim();
  if (question === 'reason') {
    if (typed !== '' || isOptional(form, question)) return answered(form, { reason: typed });
    return { ...form, problem: 'A reason is needed: others see it in the list of overrides.' };
  }
  try {
    parseDuration(typed);
    return answered(form, { for: typed });
  } catch (error) {
    return { ...form, problem: (error as Error).message };
  }
}

function answered(form: Form, answer: Answers): Form {
  return asked({ ...form, answers: { ...form.answers, ...answer }, problem: undefined });
}

function asked(form: Form): Form {
  const question = questionOf(form);
  return { ...form, typed: (question && PROPOSED[question]) ?? '' };
}
