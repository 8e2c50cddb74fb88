/** The form before an action: it asks for a mode, a reason and a duration, and at last whether to do it. */
import { parseDuration } from '../../gateway/config/rate.ts';
import type { PolicyMode } from '../../gateway/core/policy.ts';
import type { Line } from '../output/output.ts';
import type { Key } from './terminal.ts';
import { lineOf, wrapped } from './text.ts';

export interface Answers {
  readonly mode?: PolicyMode;
  readonly reason?: string;
  readonly for?: string;
}

export type ActionName = 'reset' | 'block' | 'exempt' | 'unblock' | 'unexempt' | 'mode' | 'restore';

/** What an action is about: `id` for the gateway, `name` for people. */
export interface Subject {
  readonly id: string;
  readonly name: string;
}

export interface Form {
  readonly action: ActionName;
  readonly subject: Subject;
  readonly note?: string | undefined;
  readonly answers: Answers;
  readonly typed: string;
  readonly problem?: string | undefined;
}

type Field = keyof Answers;

interface Action {
  readonly fields: readonly Field[];
  readonly what: (name: string) => string;
}

const ACTIONS: Readonly<Record<ActionName, Action>> = {
  reset: {
    fields: ['reason'],
    what: (name) => `Reset the counters of ${name} in all policies`,
  },
  block: { fields: ['reason', 'for'], what: (name) => `Block ${name}` },
  exempt: { fields: ['reason', 'for'], what: (name) => `Exempt ${name} from all limits` },
  unblock: { fields: [], what: (name) => `Lift the block of ${name}` },
  unexempt: { fields: [], what: (name) => `Lift the exemption of ${name}` },
  mode: {
    fields: ['mode', 'reason', 'for'],
    what: (name) => `Change the mode of the policy ${name}`,
  },
  restore: {
    fields: [],
    what: (name) => `Return the policy ${name} to the mode in the policy file`,
  },
};
const MODES: Readonly<Record<string, PolicyMode>> = { e: 'enforce', s: 'shadow', o: 'off' };
const PROPOSED: Readonly<Partial<Record<Field, string>>> = { for: '30min' };
const LONGEST_REASON = 200;

export function startForm(action: ActionName, subject: Subject, note?: string): Form {
  return withNextField({ action, subject, note, answers: {}, typed: '' });
}

/** Undefined when all fields are filled, and only the confirmation is missing. */
function nextField({ action, answers }: Form): Field | undefined {
  return ACTIONS[action].fields.find((field) => answers[field] === undefined);
}

/** A reset lasts no time, so no list shows its reason. */
function isOptional({ action }: Form, field: Field): boolean {
  return action === 'reset' && field === 'reason';
}

export function pressInForm(form: Form, key: Key): Form | 'done' | 'given up' {
  if (key.name === 'escape') return 'given up';
  const field = nextField(form);
  // Neither a second Enter nor pasted text does what was not read.
  if (field === undefined) return key.text === 'y' ? 'done' : 'given up';
  if (field === 'mode') {
    const mode = MODES[key.text];
    return mode === undefined ? form : answered(form, { mode });
  }
  if (key.name === 'return') return withTyped(form, field);
  return { ...form, typed: edited(form.typed, key), problem: undefined };
}

export function edited(text: string, { name, text: char }: Key): string {
  if (name === 'backspace') return [...text].slice(0, -1).join('');
  if (name === 'ctrl-u') return '';
  return [...text].length < LONGEST_REASON ? text + char : text;
}

function withTyped(form: Form, field: 'reason' | 'for'): Form {
  const typed = form.typed.trim();
  if (field === 'reason') {
    if (typed !== '' || isOptional(form, field)) return answered(form, { reason: typed });
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
  return withNextField({ ...form, answers: { ...form.answers, ...answer }, problem: undefined });
}

function withNextField(form: Form): Form {
  const field = nextField(form);
  return { ...form, typed: (field && PROPOSED[field]) ?? '' };
}

const PROMPTS = {
  mode: 'New mode: e enforce, s shadow, o off',
  reason: 'Reason: ',
  for: 'For how long (a number and s, min, h or d): ',
} as const;
const INDENT = '  ';

export function formLines(form: Form, width: number): Line[] {
  const plain = (text: string) => wrapped(text, width, INDENT);
  const bold = (text: string) => plain(text).map((line) => lineOf(line, 'head'));
  const note = form.note === undefined ? [] : plain(form.note);
  const field = nextField(form);
  if (field === undefined) {
    return [...note, ...bold(`${sentence(form)}?`), 'y: do it   any other key: give up'];
  }
  const prompt = isOptional(form, field) ? 'Reason, if any: ' : PROMPTS[field];
  return [
    ...bold(sentence(form)),
    ...note,
    field === 'mode' ? prompt : typedLine(prompt, form.typed, width),
    ...plain(form.problem ?? 'Enter: go on   Esc: give up'),
  ];
}

/** The end of what is typed stays in sight. */
export function typedLine(prompt: string, typed: string, width: number): Line {
  const left = Math.max(1, width - prompt.length - 1);
  return { spans: [prompt, [...typed].slice(-left).join(''), { text: ' ', tone: 'chosen' }] };
}

function sentence({ action, subject, answers }: Form): string {
  const { mode, reason, for: duration } = answers;
  return [
    ACTIONS[action].what(subject.name),
    ...(mode === undefined ? [] : [` to ${mode}`]),
    ...(duration === undefined ? [] : [` for ${duration}`]),
    ...(reason === undefined || reason === '' ? [] : [`, ${JSON.stringify(reason)}`]),
  ].join('');
}
