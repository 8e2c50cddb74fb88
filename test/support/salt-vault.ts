/** What Redis does for salts, in a map. */
import type { SaltVault } from '../../src/gateway/stores/salts/salt-book.ts';

export class TestSaltVault implements SaltVault {
  /** By name. */
  readonly salts = new Map<string, Buffer>();
  /** By name, as they were proposed. */
  readonly lifetimes = new Map<string, number | undefined>();
  away = false;
  /** How often a gateway asked the others. */
  asked = 0;
  /** What the others do then. */
  onAsked: () => Promise<void> = async () => {};

  async get(name: string): Promise<Buffer | undefined> {
    if (this.away) throw new Error('away');
    return this.salts.get(name);
  }

  async agree(name: string, proposed: Buffer, lifetimeMs: number | undefined): Promise<Buffer> {
    if (this.away) throw new Error('away');
    const agreed = this.salts.get(name) ?? proposed;
    this.salts.set(name, agreed);
    this.lifetimes.set(name, lifetimeMs);
    return agreed;
  }

  async requestLost(): Promise<void> {
    this.asked++;
    await this.onAsked();
  }
}
