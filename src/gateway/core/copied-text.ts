/** V8 keeps a part of a text as a reference to the whole text: an address to its header, a field to its log. */
export function copyOf(text: string): string {
  const copy = Buffer.from(text, 'latin1').toString('latin1');
  return copy === text ? copy : Buffer.from(text, 'utf16le').toString('utf16le');
}
