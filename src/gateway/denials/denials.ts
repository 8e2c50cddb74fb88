/** The denials of a gateway: those that clients got, and those that shadow policies would have given. */
import type { Decision, Denied } from '../core/counting/decision.ts';
import { partitionOf } from '../core/counting/descriptor.ts';
import { blockOf } from './denial-report.ts';
import type { RecordedDenial } from './denial-run.ts';
import { type DeniedClient, DeniedClients } from './denied-clients.ts';

export interface DenialsOptions extends Pick<DenialBookOptions, 'now' | 'idOf'> {
  readonly writeDenied: (line: DenialLine) => void;
  readonly writeWouldBeDenied: (line: ShadowDenialLine) => void;
}

/** A shadow policy blocks nobody and never falls back to another way of counting, so the line has no mode. */
export type ShadowDenialLine = Omit<DenialLine, 'mode' | 'blocked_by' | 'listed_at'> & {
  readonly counted_in: 'store';
};

const FLUSH_EVERY_MS = 1_000;

export type Denials = ReturnType<typeof createDenials>;

export function createDenials({ now, idOf, writeDenied, writeWouldBeDenied }: DenialsOptions) {
  const enforced = createDenialBook({ now, idOf, write: writeDenied });
  const shadow = createDenialBook({
    now,
    idOf,
    write: ({ mode: _mode, blocked_by: _by, listed_at: _at, ...line }) =>
      writeWouldBeDenied({ ...line, counted_in: 'store' }),
  });
  const both = [enforced, shadow];
  const flushing = setInterval(() => {
    for (const book of both) book.flush();
  }, FLUSH_EVERY_MS).unref();
  return {
    enforced,
    shadow,
    name: (decision: Decision, denied: Denied, isShadow: boolean): string =>
      (isShadow ? shadow : enforced).clients.name(decision, denied),
    /** A decision was sent to a proxy. */
    decided(decision: Decision, dialect: string, durationMs: number): void {
      const { denial } = decision;
      if (denial === undefined || decision.isRepeated) return;
      enforced.add({ decision, denial, answered: { dialect, durationMs } });
    },
    wouldDeny(decision: Decision): void {
      const { denial } = decision;
      if (denial !== undefined) shadow.add({ decision, denial, answered: undefined });
    },
    reset(keys: readonly string[]): void {
      for (const book of both) book.clients.reset(keys);
    },
    close(): void {
      clearInterval(flushing);
      for (const book of both) book.close();
    },
  };
}

interface DeniedName {
  readonly client: string;
  readonly client_id: string | undefined;
  /** Denials since the previous line that were not logged. */
  readonly suppressed: number;
}

/** The fields of the log line for a denial; docs/logs.md explains them. */
export type DenialLine = Readonly<ReturnType<typeof denialLine>>;

export function denialLine({ decision, denial, answered }: RecordedDenial, name: DeniedName) {
  const { policy, reason, mode, binding } = decision;
  const { client, client_id, suppressed } = name;
  const counted = binding && partitionOf(binding.key);
  const { blocked_by, listed_at } = blockOf(denial);
  return {
    decision_id: denial.id,
    trace_id: denial.traceId,
    policy,
    limit: binding?.limit.label,
    reason,
    mode,
    identity: denial.identity,
    client,
    client_id,
    came_as: denial.client === client ? undefined : denial.client,
    counted: counted === client ? undefined : counted,
    retry_after_ms: binding?.isNeverMet ? undefined : binding?.state.retryAfterMs,
    blocked_by,
    listed_at,
    dialect: answered?.dialect,
    duration_ms: answered?.durationMs,
    suppressed,
  };
}

interface DenialBookOptions {
  readonly now: () => number;
  /** The id of a listed key, by its partition; undefined for every other partition. */
  readonly idOf: (client: string) => string | undefined;
  readonly write: (line: DenialLine) => void;
}

const EVERY_MS = 1_000;

/**
 * Remembers the clients, and logs at most one line a second for each client and policy, so that a
 * client that keeps retrying cannot fill the log. Each line says how many denials were not logged since the line before.
 */
export function createDenialBook({ now, idOf, write }: DenialBookOptions) {
  /** Clients with denials that were not logged, and that no later line has counted yet. */
  const pending = new Set<DeniedClient>();
  const log = (client: DeniedClient, suppressed: number): void => {
    pending.delete(client);
    client.loggedMs = now();
    client.unlogged = 0;
    if (client.latest === undefined) return;
    const client_id = idOf(client.client);
    write(denialLine(client.latest.recorded, { client: client.client, client_id, suppressed }));
  };
  const conclude = (client: DeniedClient): void => {
    // The line itself stands for the last of them.
    if (pending.has(client)) log(client, client.unlogged - 1);
  };
  const clients = new DeniedClients({ now, onForgotten: conclude });
  return {
    clients,
    add(denial: RecordedDenial): void {
      const client = clients.add(denial);
      if (now() - client.loggedMs >= EVERY_MS) {
        log(client, client.unlogged);
        return;
      }
      client.unlogged++;
      pending.add(client);
    },
    /** Logs the pending denials whose second has passed. */
    flush(): void {
      const nowMs = now();
      for (const client of pending) if (nowMs - client.loggedMs >= EVERY_MS) conclude(client);
    },
    close(): void {
      for (const client of pending) conclude(client);
    },
  };
}
