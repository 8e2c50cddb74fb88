/** Reports on the policy file: which one is in force, and what reloading it brought. */

import type { TelemetryContext } from '../context.ts';
import { MOST_LISTED } from '../log/log-line.ts';
import { UNTRUSTED } from '../proxies/proxy-events.ts';

export interface PolicyFileEvents {
  /** The policies with this digest of their files apply from now on. */
  inForce(digest: string): void;
  /** A reload put so many policies in force. */
  loaded(count: number): void;
  /** The reloaded file does not have these policies any more. */
  removed(names: readonly string[]): void;
  /** Each mistake as `file:line:column: path: what is wrong`. */
  refused(mistakes: readonly string[]): void;
  note(text: string): void;
}

export function createPolicyFileEvents(context: TelemetryContext): PolicyFileEvents {
  const { write, now, forget } = context;
  const { policyFile: metrics, proxies } = context.metrics;
  // A supervisor reads the file once, and reloads nothing.
  metrics.lastReload.set(1);
  return {
    inForce(sha256) {
      metrics.lastReload.set(1);
      metrics.inForce.reset();
      metrics.inForce.set({ sha256 }, 1);
      metrics.loadedAt.set(Math.floor(now() / 1000));
      // Another file needs other headers, and may trust other proxies.
      proxies.unseenHeaders.reset();
      proxies.seenHeaders.reset();
      forget(UNTRUSTED);
    },
    loaded(count) {
      metrics.reloads.inc({ result: 'ok' });
      write('policies_loaded', { policies: count });
    },
    removed(names) {
      const policies = names.slice(0, MOST_LISTED);
      write('policies_removed', { policies, more: names.length - policies.length });
    },
    refused(all) {
      metrics.reloads.inc({ result: 'error' });
      metrics.lastReload.set(0);
      const mistakes = all.slice(0, MOST_LISTED);
      write('policies_refused', { mistakes, more: all.length - mistakes.length });
    },
    note: (text) => write('policy_note', {}, text),
  };
}
