/** Texts of the policy file that have placeholders. They are split once, so that a denial only joins their parts. */

/** Literal text and the names of placeholders in turn. It begins and ends with literal text. */
export type Template = readonly string[];

interface Values {
  /** Until the request can be repeated; undefined if it is never allowed. */
  readonly seconds: number | undefined;
  /** Undefined if clients must not learn it. */
  readonly policy: string | undefined;
  readonly id: string;
}

export function templateOf(text: string): Template {
  return text.split(/\{(seconds|policy|id)\}/);
}

/** Undefined if the template needs a value that there is not. */
export function filled(
  template: Template,
  values: Values,
  quote: (value: string) => string,
): string | undefined {
  let text = '';
  for (const [index, part] of template.entries()) {
    const value = index % 2 === 0 ? part : values[part as keyof Values];
    if (value === undefined) return undefined;
    text += index % 2 === 0 ? part : quote(String(value));
  }
  return text;
}
