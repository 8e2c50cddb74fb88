/** What a catalog says of each rule of `headgate doctor`, and the diagnostics made of it. */
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

/** The remedy for parts of another policy file or another version of headgate. */
export const PRINT_AGAIN =
  "Print the proxy's file again as you made it, and reload the proxy: `headgate proxy-config NAME --policies FILE`, with `--include PLACE` for each part that your file includes.";

/** `file`: what the diagnostic is about, with its line, as `nginx.conf:12`. */
export function diagnosticMaker<Id extends string>(catalog: Readonly<Record<Id, RuleText>>) {
  return (id: Id, file: string, message: string): Diagnostic => {
    const { severity, remedy } = catalog[id];
    return { rule: id, severity, file, place: undefined, path: '', message, remedy };
  };
}

const MOST_PLACES = 20;

/** The first place stands for all of them, and the text names the others. */
export function grouped(findings: readonly Diagnostic[]): Diagnostic[] {
  const groups = new Map<string, Diagnostic[]>();
  for (const finding of findings) {
    const key = `${finding.rule} ${finding.message}`;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined || others.length === 0) return first ?? [];
    const places = others.slice(0, MOST_PLACES).map(({ file }) => file);
    const more = others.length > MOST_PLACES ? [`${others.length - MOST_PLACES} more`] : [];
    return { ...first, message: `also at ${[...places, ...more].join(', ')}: ${first.message}` };
  });
}
