/** Lines of the screen and their spans. */
import type { Line, Span, Tone } from '../output/output.ts';
import { cut, widthOf } from './text.ts';

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
