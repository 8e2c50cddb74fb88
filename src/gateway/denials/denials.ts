/** The denials of a gateway: those that clients got, and those that shadow policies would have given. */
import type { Decision, Denied } from '../core/counting/decision.ts';
import { DenialBook, type DenialBookOptions, type DenialLine } from './denial-book.ts';

export interface DenialsOptions extends Pick<DenialBookOptions, 'now' | 'idOf'> {
  readonly writeDenied: (line: DenialLine) => void;
  readonly writeWouldBeDenied: (line: ShadowDenialLine) => void;
}

/** A shadow policy blocks nobody and never falls back to another way of counting, so the line has no mode. */
export type ShadowDenialLine = Omit<DenialLine, 'mode' | 'blocked_by' | 'listed_at'> & {
  readonly counted_in: 'store';
};

const FLUSH_EVERY_MS = 1_000;

export class Denials {
  readonly enforced: DenialBook;
  readonly shadow: DenialBook;
  readonly #flushing: NodeJS.Timeout;

  constructor({ now, idOf, writeDenied, writeWouldBeDenied }: DenialsOptions) {
    this.enforced = new DenialBook({ now, idOf, write: writeDenied });
    this.shadow = new DenialBook({
      now,
      idOf,
      write: ({ mode: _mode, blocked_by: _by, listed_at: _at, ...line }) =>
        writeWouldBeDenied({ ...line, counted_in: 'store' }),
    });
    this.#flushing = setInterval(() => {
      this.enforced.flush();
      this.shadow.flush();
    }, FLUSH_EVERY_MS).unref();
  }

  /** The id of the next denial of this client. */
  name(decision: Decision, denied: Denied, isShadow: boolean): string {
    return (isShadow ? this.shadow : this.enforced).clients.name(decision, denied);
  }

  /** Call this with each decision that was sent to a proxy. Milliseconds. */
  decided(decision: Decision, dialect: string, durationMs: number): void {
    const { denial } = decision;
    if (denial === undefined || decision.isRepeated) return;
    this.enforced.add({ decision, denial, answered: { dialect, durationMs } });
  }

  /** Call this with each denial by a shadow policy. */
  wouldDeny(decision: Decision): void {
    const { denial } = decision;
    if (denial !== undefined) this.shadow.add({ decision, denial, answered: undefined });
  }

  /** Call this after these store keys were deleted, by any gateway. */
  reset(keys: readonly string[]): void {
    this.enforced.clients.reset(keys);
    this.shadow.clients.reset(keys);
  }

  /** Writes the lines that are left. */
  close(): void {
    clearInterval(this.#flushing);
    this.enforced.close();
    this.shadow.close();
  }
}
