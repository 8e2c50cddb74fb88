/** What is asked before an action, in words. */
import type { Line } from '../output/output.ts';
import { type ActionName, type Form, isOptional, questionOf } from './form.ts';
import { lineOf } from './spans.ts';
import { wrapped } from './text.ts';

const WHAT: Readonly<Record<ActionName, (name: string) => string>> = {
  reset: (name) => `Reset the counters of ${name} in all policies`,
  block: (name) => `Block ${name}`,
  exempt: (name) => `Exempt ${name} from all limits`,
  unblock: (name) => `Lift the block of ${name}`,
  unexempt: (name) => `Lift the exemption of ${name}`,
  mode: (name) => `Change the mode of the policy ${name}`,
  restore: (name) => `Return the policy ${name} to the mode in the policy file`,
};
const QUESTIONS = {
  mode: 'New mode: e enforce, s shadow, o off',
  reason: 'Reason: ',
  for: 'For how long (a number and s, min, h or d): ',
} as const;
const INDENT = '  ';

export function formLines(form: Form, width: number): Line[] {
  const plain = (text: string) => wrapped(text, width, INDENT);
  const bold = (text: string) => plain(text).map((line) => lineOf(line, 'head'));
  const note = form.note === undefined ? [] : plain(form.note);
  const question = questionOf(form);
  if (question === undefined) {
    return [...note, ...bold(`${sentence(form)}?`), 'y: do it   any other key: give up'];
  }
  const prompt = isOptional(form, question) ? 'Reason, if any: ' : QUESTIONS[question];
  return [
    ...bold(sentence(form)),
    ...note,
    question === 'mode' ? prompt : typedLine(prompt, form.typed, width),
    ...plain(form.problem ?? 'Enter: go on   Esc: give up'),
  ];
}

/** The end of what is typed stays in sight. */
export function typedLine(prompt: string, typed: string, width: number): Line {
  const room = Math.max(1, width - prompt.length - 1);
  return { spans: [prompt, [...typed].slice(-room).join(''), { text: ' ', tone: 'chosen' }] };
}

function sentence({ action, subject, answers }: Form): string {
  const { mode, reason, for: duration } = answers;
  return [
    WHAT[action](subject.name),
    ...(mode === undefined ? [] : [` to ${mode}`]),
    ...(duration === undefined ? [] : [` for ${duration}`]),
    ...(reason === undefined || reason === '' ? [] : [`, ${JSON.stringify(reason)}`]),
  ].join('');
}
