/** A header block that cannot be read. The two tables then differ, so the connection must end: RFC 9113, section 4.3. */
export class CompressionError extends Error {
  override readonly name = 'CompressionError';
}
