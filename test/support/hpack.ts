/** Writes parts of header blocks: https://www.rfc-editor.org/rfc/rfc7541#section-5 */

/** `first`: the bits before the number, which begins in the last `bits` bits of the same byte. */
export function integer(first: number, bits: number, value: number): Buffer {
  const most = 2 ** bits - 1;
  if (value < most) return Buffer.from([first | value]);
  const bytes = [first | most];
  let rest = value - most;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}
