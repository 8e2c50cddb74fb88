/** The headers or trailers of an answer, encoded once. */
export interface HeaderBlock {
  readonly bytes: Buffer;
}

/** Names are in lower case, and pseudo-headers come first. */
export function headerBlock(_fields: readonly [name: string, value: string][]): HeaderBlock {
  throw new Error('not written yet');
}
