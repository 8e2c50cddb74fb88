/** A gateway of composed-gateway.ts, and what its operators ask and override. */
import { freePort } from '../../test/support/ports.ts';
import type { Lab, Server } from './lab.ts';

export interface Operated {
  readonly server: Server;
  /** Its metrics, as Prometheus reads them. */
  scrape(): Promise<string>;
  /** Throws when it is not done. */
  override(method: 'POST' | 'PUT', path: string, body: object): Promise<void>;
  /** How many overrides are in force. */
  overrides(): Promise<number>;
}

export async function startOperated(
  lab: Lab,
  telemetry: 'shipped' | 'none',
  policies: string,
): Promise<Operated> {
  const opsPort = String(await freePort());
  const opsUrl = `http://127.0.0.1:${opsPort}`;
  const server = await lab.server('support/composed-gateway.ts', telemetry, opsPort, policies);
  return {
    server,
    scrape: async () => (await fetch(`${opsUrl}/metrics`)).text(),
    async override(method, path, body) {
      const answer = await fetch(`${opsUrl}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...body, for: '1h', reason: 'a benchmark' }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    },
    async overrides() {
      const answer = await fetch(`${opsUrl}/v1/overrides`);
      return ((await answer.json()) as { overrides: unknown[] }).overrides.length;
    },
  };
}

/** Decisions by policy and verdict, of the text of the metrics. */
export function decisionSeries(metrics: string): number {
  return metrics.match(/^headgate_decisions_total\{/gm)?.length ?? 0;
}
