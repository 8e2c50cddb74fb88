/** Parses the reply to INFO. */

export class ServerInfo {
  readonly #fields = new Map<string, string>();

  /** Lines such as `role:master`, under headings that begin with a `#`. */
  constructor(reply: string) {
    for (const line of reply.split(/\r?\n/)) {
      const colon = line.indexOf(':');
      if (colon > 0 && !line.startsWith('#')) {
        this.#fields.set(line.slice(0, colon), line.slice(colon + 1));
      }
    }
  }

  /** Undefined if the server's version does not have this field. */
  text(name: string): string | undefined {
    return this.#fields.get(name);
  }

  /** 0 if the server's version does not have this field. */
  number(name: string): number {
    const number = Number(this.#fields.get(name) ?? 0);
    return Number.isFinite(number) ? number : 0;
  }
}
