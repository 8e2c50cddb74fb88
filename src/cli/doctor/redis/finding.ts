/** The results of an examination of Redis. Each is printed as one line. */

/** A note needs no action. With a fault, gateways cannot count on the server. */
export type FindingLevel = 'fine' | 'note' | 'warning' | 'fault';

export interface Finding {
  readonly level: FindingLevel;
  /** The server, as host and port. */
  readonly place: string;
  /** Follows the place, so the server is its subject. Says what is the case and what to do. */
  readonly text: string;
}

/** A finding whose place the caller adds. */
export type PlacedFinding = Omit<Finding, 'place'>;

export const fine = (text: string): PlacedFinding => ({ level: 'fine', text });
export const note = (text: string): PlacedFinding => ({ level: 'note', text });
export const warning = (text: string): PlacedFinding => ({ level: 'warning', text });
export const fault = (text: string): PlacedFinding => ({ level: 'fault', text });
