/** Denials: who is denied now, and what became of one of them, by all gateways that count together. */
import { z } from 'zod';
import { modeOf } from '../core/overrides.ts';
import {
  type DenialReport,
  denialReportSchema,
  reportOf,
  type StandingNow,
  standingNow,
  standingNowSchema,
  together,
} from '../denials/denial-report.ts';
import { OperationError } from './operation-error.ts';
import { overrideReport } from './override-report.ts';
import type { Gateway } from './running-gateway.ts';

/** Who was denied longer ago than that is not being denied. */
const NOW_MS = 300_000;
/** What one gateway tells another at once. */
const MOST = 100;

/** What gateways ask each other. */
const questionSchema = z.discriminatedUnion('about', [
  z.object({
    about: z.literal('top'),
    most: z.int().positive(),
    withinMs: z.number().positive(),
    shadow: z.boolean(),
  }),
  z.object({ about: z.literal('decision'), id: z.string().max(64) }),
]);
type Question = z.output<typeof questionSchema>;

const foundSchema = z.object({
  report: denialReportSchema,
  now: standingNowSchema.optional(),
});
type Found = z.output<typeof foundSchema>;

interface Top {
  readonly limit: number;
  readonly shadow: boolean;
}

export function denialOperations(gateway: Gateway) {
  return {
    async top({ limit, shadow }: Top) {
      const question: Question = { about: 'top', most: limit, withinMs: NOW_MS, shadow };
      const { answers, asked } = await gateway.queryAll(question);
      const reports = answers.flatMap(reportsIn);
      return { clients: together(reports, limit), gateways: { asked, answered: answers.length } };
    },
    async decision({ id }: { readonly id: string }) {
      const { report, now } = await find(gateway, id);
      const { overrides, policies } = gateway;
      const names = [...report.names, ...report.networks];
      const override = overrides
        .list()
        .find((each) => each.about === 'client' && names.includes(each.client));
      const policy = policies.current.policies.find(({ name }) => name === report.policy);
      return {
        ...report,
        asked_for: id,
        now,
        ...(policy && { policy_mode: modeOf(policy, overrides.current.modes) }),
        ...(override && { override: overrideReport(override) }),
      };
    },
  };
}

/** Rejects with an OperationError when no gateway knows it any more. */
export async function deniedBy(gateway: Gateway, id: string): Promise<DenialReport> {
  return (await find(gateway, id)).report;
}

async function find(gateway: Gateway, id: string): Promise<Found> {
  const { answers, asked } = await gateway.queryAll({ about: 'decision', id } satisfies Question);
  for (const answer of answers) {
    const found = foundSchema.safeParse(answer);
    if (found.success) return found.data;
  }
  const silent = asked - answers.length;
  throw new OperationError(
    'not_found',
    silent > 0
      ? `no gateway that answers knows the decision ${id}, and ${silent} of ${asked} did not answer`
      : `no gateway knows the decision ${id}: it was no denial, or is forgotten; the log may have it`,
  );
}

/** What does not read as a report is not shown. */
function reportsIn(answer: unknown): DenialReport[] {
  if (!Array.isArray(answer)) return [];
  return answer.slice(0, MOST).flatMap((each) => denialReportSchema.safeParse(each).data ?? []);
}

/** What this gateway says when it is asked; null to what is no question. Never rejects. */
export async function answerQuery(gateway: Gateway, asked: unknown): Promise<unknown> {
  const question = questionSchema.safeParse(asked).data;
  if (question === undefined) return null;
  if (question.about === 'top') {
    const clients = question.shadow ? gateway.wouldBeDenied : gateway.denied;
    const denied = clients.top(Math.min(question.most, MOST), question.withinMs);
    return denied.map(reportOf).filter((report) => report !== undefined);
  }
  const client = gateway.denied.find(question.id) ?? gateway.wouldBeDenied.find(question.id);
  const report = client && reportOf(client);
  if (report === undefined) return null;
  const binding = client?.last?.decision.binding;
  return { report, now: await standing(gateway, binding) } satisfies Found;
}

/** Undefined also while the store is away: what was is known all the same. */
async function standing(
  { policies, reader }: Gateway,
  binding: Parameters<typeof standingNow>[0] | undefined,
): Promise<StandingNow | undefined> {
  try {
    return binding && (await standingNow(binding, policies.current.policies, reader));
  } catch {
    return undefined;
  }
}
