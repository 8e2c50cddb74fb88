/** What an examination of Redis finds: one line each. */

/** A note is no fault of anybody; with a fault, a gateway could not count there. */
export type FindingLevel = 'fine' | 'note' | 'warning' | 'fault';

export interface Finding {
  readonly level: FindingLevel;
  /** A server, as host and port. */
  readonly place: string;
  /** What is so, and what to do about it. */
  readonly text: string;
}

/** Of one place: the examination of a server says it once. */
export type PlacedFinding = Omit<Finding, 'place'>;

export const fine = (text: string): PlacedFinding => ({ level: 'fine', text });
export const note = (text: string): PlacedFinding => ({ level: 'note', text });
export const warning = (text: string): PlacedFinding => ({ level: 'warning', text });
export const fault = (text: string): PlacedFinding => ({ level: 'fault', text });
