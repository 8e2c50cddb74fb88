/** A number from 0 to 2^32 - 1 for a text, the same in every gateway: FNV-1a, 32 bits. */
export function fnv1a32(key: string): number {
  let spread = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) {
    spread = Math.imul(spread ^ key.charCodeAt(i), 0x01000193);
  }
  return spread >>> 0;
}
