/** Words that YAML reads as something else than text. */
const MEANINGFUL = /^(true|false|null|yes|no|on|off|y|n|~|\d.*)$/i;
const PLAIN = /^[A-Za-z0-9/][A-Za-z0-9/._@~=+-]*$/;
/** `/files/*`, `/users/:id/posts`, `*.example.com`: only the latter needs quotes. */
const PATH = /^\/(?:[A-Za-z0-9._~=@+*%-]|:(?=[A-Za-z_])|\/)*$/;

export function scalar(text: string): string {
  if (PLAIN.test(text) && !MEANINGFUL.test(text)) return text;
  if (/^\d+\/\d+(s|min|h|d)$/.test(text)) return text;
  if (PATH.test(text)) return text;
  return JSON.stringify(text);
}

/** Text of others in a comment: one line without control characters. */
export function commentText(text: string): string {
  const line = text
    .replaceAll(/[\p{C}\u2028\u2029]+/gu, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
  return line.length > 160 ? `${line.slice(0, 157)}...` : line;
}

/** `a, b` without empty parts. */
export function listed(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}
