/** Denials: who is denied, and the lines that the log has of it. */
import { DenialLog, type DenialLogOptions } from './denial-log.ts';
import { type DenialTold, DeniedClients } from './denied-clients.ts';

export class Denials {
  readonly clients: DeniedClients;
  readonly #log: DenialLog;

  constructor(options: DenialLogOptions) {
    this.#log = new DenialLog(options);
    this.clients = new DeniedClients({
      now: options.now,
      onForgotten: (client) => this.#log.conclude(client),
    });
  }

  add(told: DenialTold): void {
    this.#log.add(this.clients.add(told));
  }

  /** To be called every second or so. */
  flush(): void {
    this.#log.flush();
  }

  /** At the end. */
  close(): void {
    this.#log.close();
  }
}
