/** What the gateway says about reloads, in its log and in its metrics. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayProcess } from '../../support/gateway.ts';
import { call } from '../../support/http.ts';

const NOTICED_WITHIN_MS = 60_000;

export type Result = 'loaded' | 'refused';

export class ReloadLog {
  readonly told: Record<Result, number> = { loaded: 0, refused: 0 };
  readonly #gateway: GatewayProcess;
  #readTo = 0;

  constructor(gateway: GatewayProcess) {
    this.#gateway = gateway;
  }

  /**
   * Resolves once the log has this result. After a signal the gateway may repeat the last result, because it reads files
   * that it has already noticed. Files with and without mistakes take turns, so the results are not confused.
   */
  async until(result: Result): Promise<void> {
    const before = this.told[result];
    const endMs = performance.now() + NOTICED_WITHIN_MS;
    while (performance.now() < endMs) {
      this.readOn();
      if (this.told[result] > before) return;
      await sleep(5);
    }
    throw new Error(
      `a file was replaced, and the gateway did not notice:\n${this.#gateway.output()}`,
    );
  }

  readOn(): void {
    const lines = this.#gateway.output().slice(this.#readTo);
    const end = lines.lastIndexOf('\n') + 1;
    this.#readTo += end;
    for (const [, result] of lines.slice(0, end).matchAll(/"event":"policies_(loaded|refused)"/g))
      this.told[result as Result]++;
  }
}

export async function reloadsCounted(gateway: GatewayProcess) {
  const { body } = await call(gateway.opsUrl, '/metrics');
  const count = (result: string) =>
    Number(
      new RegExp(`^headgate_policy_reloads_total\\{result="${result}"\\} (\\d+)`, 'm').exec(
        body,
      )?.[1],
    );
  return { taken: count('ok'), refused: count('error') };
}
