import { z } from 'zod';
import { modeOf } from '../core/overrides.ts';
import { printable } from '../core/printable.ts';
import { moment, printable as text } from '../stores/overrides/override.ts';
import { STEP_MS, STEPS } from '../telemetry/decisions/traffic-history.ts';
import { type Gateway, MOST_ACTIONS } from './running-gateway.ts';
import { actionSchema, STORE_STATES, type StoreState } from './schemas/overview.ts';

/** Policies in an overview: those with the most requests. */
export const MOST_POLICIES = 200;
const MOST_MISTAKES = 20;
const LONGEST_MISTAKE = 300;
const LONGEST_REASON = 100;

export const reportQuerySchema = z.object({
  about: z.literal('overview'),
  /** The end of the last step, milliseconds since the epoch. */
  untilMs: z.int().min(0),
});
type ReportQuery = z.output<typeof reportQuerySchema>;

const amount = z
  .int()
  .min(0)
  .max(2 ** 32);
/** Checked by hand: zod takes a hundred times as long, and there are thousands of numbers. */
const series = z.custom<readonly number[]>(isSeries);

/** Anyone who can publish in Redis can pose as a gateway, and operators see its texts. */
const gatewayReportSchema = z.object({
  is_worker: z.boolean(),
  traffic: z
    .array(z.object({ policy: text(256), requests: series, denials: series, wouldDeny: series }))
    .max(MOST_POLICIES),
  store: z.object({
    states: z.array(z.enum(STORE_STATES)).min(1).max(STORE_STATES.length),
    sinceMs: moment,
    reason: text(LONGEST_REASON).optional(),
    /** Some checks of the last seconds were not counted, others were. */
    lapses: z.object({ failed: amount, checks: amount, withinMs: amount }).optional(),
  }),
  policy_file: z.object({
    digest: z.string().regex(/^[0-9a-f]{8,128}$/),
    sinceMs: moment,
    refused: z
      .object({
        atMs: moment,
        mistakes: z.array(text(LONGEST_MISTAKE)).max(MOST_MISTAKES),
      })
      .optional(),
  }),
  /** It is absent if no check came from such a proxy since the policy file was loaded. */
  untrusted_proxy: z.object({ atMs: moment }).optional(),
  refused_caller: z.object({ atMs: moment }).optional(),
  /** It is absent if the gateway has neither reserved nor settled. */
  settlements: z
    .object({
      overdue: z.array(z.object({ policy: text(256), sinceMs: moment })).max(MOST_POLICIES),
      latest: z.array(z.object({ policy: text(256), lastMs: moment })).max(MOST_POLICIES),
    })
    .optional(),
  actions: z
    .array(
      actionSchema.extend({
        action: text(32),
        subject: text(256).optional(),
        change: text(512),
        by: text(64),
        reason: text(200).optional(),
      }),
    )
    .max(MOST_ACTIONS),
});
export type GatewayReport = z.output<typeof gatewayReportSchema>;

export function reportOfGateway(gateway: Gateway, { untilMs }: ReportQuery): GatewayReport {
  const { traffic, store, policyFile, actions, isWorker } = gateway.status;
  const { sinceMs, reason, isDegraded, lapses } = store();
  return {
    is_worker: isWorker,
    traffic: traffic.series(untilMs, MOST_POLICIES),
    store: {
      states: isDegraded ? statesWithoutStore(gateway) : ['enforced'],
      sinceMs,
      ...(reason !== undefined && { reason: shortened(reason, LONGEST_REASON) }),
      ...(lapses && { lapses }),
    },
    policy_file: fileReport(policyFile),
    ...proxyFaultsReport(gateway.status),
    ...settlementsReport(gateway.status),
    actions: [...actions.list],
  };
}

/** The reports of all gateways that answer, about the steps until `untilMs`. Never rejects. */
export async function reportsOfAll({ queryAll, now }: Gateway) {
  const untilMs = lastStepEnd(now());
  const { replies, queried } = await queryAll({ about: 'overview', untilMs } satisfies ReportQuery);
  const reports = replies.flatMap((each) => gatewayReportSchema.safeParse(each).data ?? []);
  return { reports, queried, untilMs };
}

/** The end of the last step that has ended at every gateway, if their clocks differ by less than a second. */
function lastStepEnd(nowMs: number): number {
  return Math.floor((nowMs - 1_000) / STEP_MS) * STEP_MS;
}

/** A gateway whose policies differ in `on_store_failure` is in several states. */
function statesWithoutStore(gateway: Gateway): StoreState[] {
  const found = policiesWithoutStore(gateway);
  return found.size === 0 ? ['open'] : STORE_STATES.filter((state) => found.has(state));
}

/** The names of the enforced policies by what happens to their requests while the store fails. */
export function policiesWithoutStore({ policies, overrides }: Gateway): Map<StoreState, string[]> {
  const { modes } = overrides.current;
  const enforced = policies.current.policies.filter((each) => modeOf(each, modes) === 'enforce');
  const byState = Map.groupBy(enforced, ({ onStoreFailure }) => STATE_OF[onStoreFailure]);
  return new Map([...byState].map(([state, some]) => [state, some.map(({ name }) => name)]));
}

const STATE_OF = { allow: 'open', local: 'local', deny: 'closed' } as const;

function fileReport({ digest, history }: Gateway['status']['policyFile']) {
  const refused = refusedFile(history);
  return { digest, sinceMs: history.sinceMs, ...(refused && { refused }) };
}

/** A report bounds the number of mistakes and their length. Undefined if the last reload succeeded. */
export function refusedFile({ refused }: Gateway['status']['policyFile']['history']) {
  if (refused === undefined) return undefined;
  const mistakes = refused.mistakes
    .slice(0, MOST_MISTAKES)
    .map((mistake) => shortened(mistake, LONGEST_MISTAKE));
  return { atMs: refused.atMs, mistakes };
}

function proxyFaultsReport({ proxyFaults, policyFile }: Gateway['status']) {
  const { untrustedMs = 0, refusedMs } = proxyFaults;
  return {
    ...(untrustedMs >= policyFile.history.sinceMs && { untrusted_proxy: { atMs: untrustedMs } }),
    ...(refusedMs !== undefined && { refused_caller: { atMs: refusedMs } }),
  };
}

function settlementsReport({ settlements }: Gateway['status']) {
  const overdue = settlements.overdue().slice(0, MOST_POLICIES);
  const latest = settlements.latest().slice(0, MOST_POLICIES);
  return overdue.length + latest.length > 0 && { settlements: { overdue, latest } };
}

function shortened(text: string, longest: number): string {
  const shown = printable(text);
  return shown.length <= longest ? shown : `${shown.slice(0, longest - 1)}…`;
}

function isSeries(value: unknown): boolean {
  if (!Array.isArray(value) || (value.length !== 0 && value.length !== STEPS)) return false;
  for (const count of value)
    if (!Number.isInteger(count) || count < 0 || count > MOST) return false;
  return true;
}

/** The greatest count of a step. Sums over all gateways stay exact. */
const MOST = 2 ** 32 - 1;
