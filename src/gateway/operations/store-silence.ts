/** Says that the store does not answer this gateway: since when, and how requests are decided meanwhile. */
import type { StoreError } from '../core/counting/store.ts';
import { isoTime } from '../denials/iso-time.ts';
import { policiesWithoutStore } from './gateway-report.ts';
import type { Gateway } from './running-gateway.ts';
import { storeErrorText } from './store-error-text.ts';
import { isSilence, storeLines } from './store-status.ts';

/** A sentence for what could not be read. */
export function unavailableText(error: StoreError, gateway: Gateway): string {
  return isSilence(error.reason) ? silenceText(gateway) : `${storeErrorText(error)}.`;
}

/** Since when, and how requests are decided, if any was decided meanwhile. */
export function silenceText(gateway: Gateway): string {
  const { isDegraded, lapses, sinceMs } = gateway.status.store();
  const now = isoTime(gateway.now());
  if (!isDegraded || lapses !== undefined) return 'Redis did not answer in time.';
  const states = [...policiesWithoutStore(gateway)].map(([state, policies]) => ({
    ...{ state, policies, gateways: 1, since: isoTime(sinceMs) },
  }));
  const [line] = storeLines({
    store: { kind: 'redis', states },
    gateways: { asked: 1, answered: 1, workers: 0 },
    time: now,
  });
  return line?.text ?? 'Redis does not answer.';
}
