/** What is asked before an action, in words. */
import type { Line } from '../support/output.ts';
import { type ActionName, type Form, questionOf } from './form.ts';
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
const QUESTION = {
  mode: 'New mode: e enforce, s shadow, o off',
  reason: 'Reason: ',
  for: 'For how long (a number and s, min, h or d): ',
} as const;

export function formLines(form: Form, width: number): Line[] {
  const lines = (text: string): Line[] =>
    wrapped(text, width, '  ').map((each) => [{ text: each }]);
  const bold = (text: string): Line[] =>
    wrapped(text, width, '  ').map((each) => [{ text: each, styles: ['bold'] }]);
  const note = form.note === undefined ? [] : lines(form.note);
  const question = questionOf(form);
  if (question === undefined) {
    return [...note, ...bold(`${sentence(form)}?`), ...lines('y: do it   any other key: give up')];
  }
  const optional =
    form.action === 'reset' && question === 'reason' ? 'Reason, if any: ' : undefined;
  const prompt = optional ?? QUESTION[question];
  return [
    ...bold(sentence(form)),
    ...note,
    question === 'mode' ? [{ text: prompt }] : typedLine(prompt, form.typed, width),
    ...(form.problem === undefined ? lines('Enter: go on   Esc: give up') : lines(form.problem)),
  ];
}

/** The end of what is typed stays in sight. */
export function typedLine(prompt: string, typed: string, width: number): Line {
  const room = Math.max(1, width - prompt.length - 1);
  return [
    { text: prompt },
    { text: [...typed].slice(-room).join('') },
    { text: ' ', styles: ['inverse'] },
  ];
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
