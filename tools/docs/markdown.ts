/** Markdown, as far as the references in docs/ need it. */

export function code(text: string): string {
  return `\`${text}\``;
}

export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [columns, columns.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.map(cell).join(' | ')} |\n`).join('');
}

/** It would end the cell, also between marks of code. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

/** Plain text as it is: names of variables and URLs as code, and nothing of it taken for Markdown or HTML. */
export function prose(text: string): string {
  return text.replace(/HEADGATE_[A-Z_]+|\brediss?\S*:\/\/\S*[^\s,]|[<*]/g, (found) =>
    found.length === 1 ? `\\${found}` : code(found),
  );
}

export function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\n`;
}
