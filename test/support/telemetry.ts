/** Telemetry whose lines and metrics unit tests read. */
import { createTelemetry } from '../../src/gateway/telemetry/telemetry.ts';
import { NOON_MS } from './requests.ts';

export function observedTelemetry({
  level = 'trace',
  worker,
}: {
  level?: string;
  worker?: number;
} = {}) {
  const clock = { nowMs: NOON_MS };
  const written: string[] = [];
  const telemetry = createTelemetry({
    level,
    worker,
    version: '1.2.3',
    now: () => clock.nowMs,
    destination: { write: (line) => void written.push(line) },
  });
  const lines = () => written.map((line) => JSON.parse(line) as Record<string, unknown>);
  const events = () => lines().map(({ event }) => event);
  /** Samples of the headgate metrics that begin with this text, as Prometheus reads them. */
  const metrics = async (start: string) =>
    (await telemetry.registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith(`headgate_${start}`));
  return { telemetry, clock, written, lines, events, metrics };
}
