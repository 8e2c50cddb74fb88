/** Bytes of a path that cannot be decoded, and what applications make of them. */

/** Inserted anywhere in a target, they leave a path that some application may read as the one without them. */
export const UNDECODABLE = [
  ...['%ff', '%80', '%c3', '%e2%82', '%f0%9f%98', '%ed%a0%80', '%f5%80%80%80', '\xff', '\xc3'],
  ...[
    '%',
    '%%',
    '%2',
    '%z',
    '%zz',
    '%g1',
    '%1g',
    '%u',
    '%u00',
    '%uzzzz',
    '%ud800',
    '%u0000'.slice(0, 5),
  ],
  ...['%c1%81', '%e0%81%81', '%25ff', '%25zz', '%2525ff', '%ff%zz%c1%81'],
];

/** A byte that is not part of a character; a percent sign that starts no escape, with what a decoder may take of it. */
const INVALID = /%u[0-9a-f]{4}|%(?:u[^/%]{0,4}|[^/%]{0,2})|[\x80-\xff]/gi;

/** What an application does with each of them. */
const HABITS: readonly ((path: string) => string)[] = [
  // Drops the bytes, or only the percent sign.
  (path) => once(path, () => ''),
  (path) => once(path, (bytes) => (bytes.startsWith('%') ? bytes.slice(1) : '')),
  // Replaces them.
  (path) => once(path, () => '\ufffd'),
  (path) => once(path, () => '?'),
  // Keeps them.
  (path) => path,
  // Cuts the path.
  (path) => once(path, () => '\0').replace(/\0.*/s, ''),
  // Decodes as if all digits were valid: `%2o` may be a slash.
  (path) => once(path, (bytes) => (/^%[0-9a-f]{2}|^[^%]/i.test(bytes) ? '' : '/')),
  // Drops them again after it has dropped some.
  (path) =>
    once(
      once(path, () => ''),
      () => '',
    ),
];

/** The paths that applications may read. */
export function readingsOfUndecodable(target: string): string[] {
  return HABITS.map((habit) =>
    habit(target)
      .replace(/\/{2,}/g, '/')
      .replace(/(?<=.)\/$/, ''),
  );
}

/** Decodes one layer of ASCII escapes, and rewrites what is invalid. */
function once(path: string, rewrite: (bytes: string) => string): string {
  return path.replace(INVALID, (bytes) => {
    const code = /^%[0-7][0-9a-f]$/i.test(bytes) ? Number.parseInt(bytes.slice(1), 16) : 255;
    return code < 128 ? String.fromCharCode(code) : rewrite(bytes);
  });
}
