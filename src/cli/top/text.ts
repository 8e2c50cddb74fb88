/** Texts and lines that must fit in a number of columns of the terminal. */
import { printable } from '../../gateway/core/printable.ts';
import type { Line, Span, Tone } from '../output/output.ts';

const MARK = /\p{M}/u;
/** Blocks whose characters take two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** The columns of the terminal that a text takes. */
export function widthOf(text: string): number {
  return [...text].reduce((sum, char) => sum + columnsOf(char), 0);
}

/** The text with escapes, cut to a width; a cut is shown. */
export function cut(written: string, width: number): string {
  const text = printable(written);
  if (widthOf(text) <= width) return text;
  let kept = '';
  let left = width - 1;
  for (const char of text) {
    left -= columnsOf(char);
    if (left < 0) break;
    kept += char;
  }
  return width < 1 ? '' : `${kept}…`;
}

export function padded(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const spaces = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'left' ? text + spaces : spaces + text;
}

export function wrapped(text: string, width: number, indent = ''): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of printable(text).split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line === '' || widthOf(longer) <= width) {
      line = longer;
    } else {
      lines.push(line);
      line = indent + word;
    }
  }
  return [...lines, line].map((each) => cut(each, width));
}

/** `11:29:09`, in UTC. */
export function clockText(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19);
}

function columnsOf(char: string): number {
  if (MARK.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}

export function spanOf(text: string, tone: Tone | undefined): Span {
  return tone === undefined ? text : { text, tone };
}

export function lineOf(text: string, tone: Tone): Line {
  return { spans: [{ text, tone }] };
}

export function textOf(line: Line): string {
  return spansOf(line)
    .map((span) => (typeof span === 'string' ? span : span.text))
    .join('');
}

/** Leaves no span that would stand outside. */
export function cutLine(line: Line, width: number): Line {
  let left = width;
  const spans = spansOf(line).flatMap((span): Span[] => {
    const shown = left > 0 ? cut(typeof span === 'string' ? span : span.text, left) : '';
    left -= widthOf(shown);
    if (shown === '') return [];
    return [typeof span === 'string' ? shown : { ...span, text: shown }];
  });
  return { spans };
}

function spansOf(line: Line): readonly Span[] {
  return typeof line === 'string' ? [line] : line.spans;
}
