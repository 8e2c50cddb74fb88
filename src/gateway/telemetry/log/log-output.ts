/**
 * Writes the log to a file descriptor. A full disk, a closed terminal or a reader that stopped never makes the process
 * wait or end: lines that cannot be written are lost and counted, and a line says how many once writing works again.
 */
import { write, writeSync } from 'node:fs';

export interface LogOutputOptions {
  readonly fd: number;
  /** Makes a write fail where it would wait. Called before each write, because a process that shares the file may undo it. */
  readonly unblock: () => void;
  readonly onLost: (lines: number) => void;
  /** Writes one line that says how many were lost. `why`: an error code; `EAGAIN` if the reader is too slow. */
  readonly report: (lines: number, why: string) => void;
}

/** A pipe takes so many bytes at once or none, so the lines of several workers do not mix. */
const BYTES_AT_ONCE = 4_096;
const MOST_WAITING_CHARACTERS = 1 << 20;
/** A reader may be a little slow. */
const RETRY_FULL_MS = 10;
/** How soon it writes again after an error. */
const RETRY_BROKEN_MS = 1_000;
/** How long the end of the process may wait for the last lines. */
const LAST_LINES_WITHIN_MS = 500;
const LINE_BREAK = 0x0a;
const NOTHING = Buffer.alloc(0);

export class LogOutput {
  readonly #options: LogOutputOptions;
  #waiting: string[] = [];
  #waitingCharacters = 0;
  #chunk = NOTHING;
  /** The next line reports the lost lines. */
  #isReporting = false;
  #reported = 0;
  #lost = 0;
  #why = '';
  /** The last write failed, so every line is lost until the next attempt. */
  #isBroken = false;
  /** The last line in the file is not complete. */
  #isTorn = false;
  /** When the write began that the system has not answered yet. */
  #writingSince: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastLinesUntil: number | undefined;
  #onIdle = () => {};

  constructor(options: LogOutputOptions) {
    this.#options = options;
  }

  write(text: string): void {
    if (this.#isReporting) {
      this.#chunk = Buffer.from(this.#isTorn ? `\n${text}` : text);
      return;
    }
    if (this.#isBroken) {
      this.#lose(linesIn(text), this.#why);
      return;
    }
    if (this.#waitingCharacters + text.length > MOST_WAITING_CHARACTERS)
      this.#loseWaiting('EAGAIN');
    this.#waiting.push(text);
    this.#waitingCharacters += text.length;
    this.#writeNext();
  }

  /** Resolves once everything is written, or half a second has passed. */
  async flush(): Promise<void> {
    if (this.#isIdle) return;
    this.#lastLinesUntil = performance.now() + LAST_LINES_WITHIN_MS;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onIdle = resolve;
    const timer = setTimeout(resolve, LAST_LINES_WITHIN_MS);
    await promise;
    clearTimeout(timer);
  }

  /** Call this when the process exits: it blocks the process until then. */
  flushAtExit(): void {
    const untilMs = this.#lastLinesUntil ?? performance.now() + LAST_LINES_WITHIN_MS;
    if (this.#writingSince !== undefined) {
      // Its outcome cannot be read any more, and is only known if it hangs: then Node would wait for it without end.
      if (performance.now() - this.#writingSince > LAST_LINES_WITHIN_MS)
        process.kill(process.pid, 'SIGKILL');
      pause();
      this.#chunk = NOTHING;
    }
    while (!this.#isBroken && this.#takeChunk() && performance.now() < untilMs) {
      try {
        this.#options.unblock();
        this.#advance(writeSync(this.#options.fd, this.#chunk));
      } catch (error) {
        if (!isFull(error as NodeJS.ErrnoException)) return;
        pause();
      }
    }
  }

  get #isIdle(): boolean {
    return this.#isBroken || (this.#chunk.length === 0 && this.#waiting.length === 0);
  }

  #writeNext(): void {
    if (this.#writingSince !== undefined || this.#timer !== undefined) return;
    if (!this.#takeChunk()) {
      this.#onIdle();
      return;
    }
    this.#options.unblock();
    this.#writingSince = performance.now();
    write(this.#options.fd, this.#chunk, (error, bytes) => {
      this.#writingSince = undefined;
      if (error === null) this.#advance(bytes);
      else if (isFull(error)) this.#retryIn(RETRY_FULL_MS);
      else this.#fail(error.code ?? String(error));
      this.#writeNext();
    });
  }

  #takeChunk(): boolean {
    if (this.#chunk.length > 0) return true;
    if (this.#lost > 0) return this.#takeReport();
    let count = 0;
    for (let bytes = 0; count < this.#waiting.length; count++) {
      bytes += Buffer.byteLength(this.#waiting[count] as string);
      if (count > 0 && bytes > BYTES_AT_ONCE) break;
    }
    const text = this.#waiting.splice(0, count).join('');
    this.#waitingCharacters -= text.length;
    this.#chunk = Buffer.from(text);
    return count > 0;
  }

  #takeReport(): boolean {
    this.#reported = this.#lost;
    this.#isReporting = true;
    this.#options.report(this.#lost, this.#why);
    this.#isReporting = false;
    return true;
  }

  #advance(bytes: number): void {
    if (bytes > 0) this.#isTorn = this.#chunk[bytes - 1] !== LINE_BREAK;
    this.#chunk = this.#chunk.subarray(bytes);
    if (this.#chunk.length > 0) return;
    this.#lost -= this.#reported;
    this.#reported = 0;
  }

  #fail(why: string): void {
    const lines = this.#reported > 0 ? 0 : linesIn(this.#chunk.toString());
    this.#reported = 0;
    this.#chunk = NOTHING;
    this.#lose(lines, why);
    this.#loseWaiting(why);
    this.#isBroken = true;
    this.#onIdle();
    this.#retryIn(RETRY_BROKEN_MS);
  }

  #retryIn(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#isBroken = false;
      this.#writeNext();
    }, ms).unref();
  }

  #loseWaiting(why: string): void {
    const lines = this.#waiting.reduce((sum, text) => sum + linesIn(text), 0);
    this.#waiting = [];
    this.#waitingCharacters = 0;
    this.#lose(lines, why);
  }

  #lose(lines: number, why: string): void {
    this.#why = why;
    if (lines === 0) return;
    this.#lost += lines;
    this.#options.onLost(lines);
  }
}

function isFull({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAGAIN' || code === 'EBUSY';
}

function linesIn(text: string): number {
  return text.split('\n').length - 1;
}

const NEVER_CHANGED = new Int32Array(new SharedArrayBuffer(4));

function pause(): void {
  Atomics.wait(NEVER_CHANGED, 0, 0, RETRY_FULL_MS);
}
