/** Times for operators: ISO 8601 in UTC, which also sorts as text. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
