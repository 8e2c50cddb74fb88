/** Hashes a text to a number from 0 to 2^32 - 1 (FNV-1a, 32 bits). Every gateway gets the same number. */
export function fnv1a32(key: string): number {
  let digest = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) {
    digest = Math.imul(digest ^ key.charCodeAt(i), 0x01000193);
  }
  return digest >>> 0;
}
