import type { Diagnostic, Severity } from '../../../gateway/config/diagnostic.ts';

/** An error breaks the limits or the site. */
export interface RuleText extends Pick<Diagnostic, 'severity' | 'remedy'> {
  readonly meaning: string;
}

const rule =
  (severity: Severity) =>
  (meaning: string, remedy = ''): RuleText => ({ severity, meaning, remedy });
export const error = rule('error');
export const warning = rule('warning');
export const note = rule('info');
export const fine = rule('fine');

export const PRINT_AGAIN =
  "Print the proxy's file again as you made it, and reload the proxy: `headgate proxy-config NAME --policies FILE`, with `--include PLACE` for each part that your file includes.";

/** A printed file has lines that stay comments until the proxy sets the header itself. */
export const PASS_HEADER = `If the file has a line for this header behind a \`#\`, let a filter or middleware of yours set the header, and then remove the \`#\`. Otherwise: ${PRINT_AGAIN}`;

export function diagnosticMaker<Id extends string>(catalog: Readonly<Record<Id, RuleText>>) {
  return (id: Id, file: string, message: string): Diagnostic => {
    const { severity, remedy } = catalog[id];
    return { rule: id, severity, file, place: undefined, path: '', message, remedy };
  };
}

const MOST_PLACES = 20;

/** Makes one finding of those with one message. It names the other places. */
export function grouped(findings: readonly Diagnostic[]): Diagnostic[] {
  const groups = Map.groupBy(findings, ({ rule, message }) => `${rule} ${message}`);
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined || others.length === 0) return first ?? [];
    const places = others.slice(0, MOST_PLACES).map(({ file }) => file);
    const more = others.length > MOST_PLACES ? [`${others.length - MOST_PLACES} more`] : [];
    return { ...first, message: `also at ${[...places, ...more].join(', ')}: ${first.message}` };
  });
}
