/** Denials of one kind: remembers the clients, and logs each denial. */
import { DenialLog, type DenialLogOptions } from './denial-log.ts';
import type { RecordedDenial } from './denial-run.ts';
import { DeniedClients } from './denied-clients.ts';

export class DenialBook {
  readonly clients: DeniedClients;
  readonly #log: DenialLog;

  constructor(options: DenialLogOptions) {
    this.#log = new DenialLog(options);
    this.clients = new DeniedClients({
      now: options.now,
      onForgotten: (client) => this.#log.conclude(client),
    });
  }

  add(denial: RecordedDenial): void {
    this.#log.add(this.clients.add(denial));
  }

  /** Call this every second or so. */
  flush(): void {
    this.#log.flush();
  }

  /** Writes the lines that are left. */
  close(): void {
    this.#log.close();
  }
}
