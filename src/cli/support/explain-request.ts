/** Explaining: by a policy file alone, by the counts in Redis, or by a running gateway. */

import { withLiveCounts } from '../../app/live-counts.ts';
import { ConfigError } from '../../config/config-error.ts';
import { openPolicySource } from '../../config/policy-file/policy-source.ts';
import { readEnvironment } from '../../config/settings/environment.ts';
import type { DenialReport, StandingNow } from '../../denials/denial-report.ts';
import { refusalText } from '../../doctor/refusals.ts';
import { type AskedAbout, type Explanation, explain, untouched } from '../../operations/explain.ts';
import type { OverrideReport } from '../../operations/override-report.ts';
import { EXIT_FAULT } from './exit-codes.ts';
import { askGateway, type GatewayFlags } from './gateway-client.ts';
import { GatewayRefused } from './gateway-refused.ts';
import { columns, type OutputFlags, print, shortTime } from './output.ts';
import { overrideText } from './print-overrides.ts';

export interface ExplainFlags
  extends GatewayFlags,
    OutputFlags,
    Omit<AskedAbout, 'url' | 'headers'> {
  readonly url?: string;
  readonly policies?: string;
  readonly header: AskedAbout['headers'];
  readonly live?: true;
}

type RequestFlags = ExplainFlags & { readonly url: string };

type Decision = DenialReport & {
  readonly asked_for: string;
  readonly now?: StandingNow;
  readonly policy_mode?: string;
  readonly override?: OverrideReport;
};

export async function explainRequest(flags: RequestFlags): Promise<void> {
  const explanation = await explanationOf(flags);
  const by =
    flags.live === true || flags.gateway !== undefined
      ? 'by what is counted now'
      : 'when nothing was counted before';
  print(flags.output, explanation, () => textOf(explanation, by));
}

async function explanationOf(flags: RequestFlags): Promise<Explanation> {
  const { method, url, header: headers, peer, client, proxy, gateway, live } = flags;
  const asked = { method, url, headers, peer, client, proxy };
  if (gateway !== undefined) {
    const body = { ...asked, headers: byName(headers) };
    return askGateway(flags, { method: 'POST', path: '/v1/explain', body });
  }
  const environment = readEnvironment(process.env);
  const { redis } = environment;
  const { current } = openPolicySource({
    ...environment,
    policies: flags.policies ?? environment.policies,
  });
  if (live !== true) return explain(asked, untouched(current, Date.now()));
  if (redis === undefined) {
    throw new ConfigError([
      'HEADGATE_REDIS_URL: --live reads counts there; those in the memory of a gateway it knows itself: --gateway URL',
    ]);
  }
  try {
    return await withLiveCounts(redis, environment, current, (now) => explain(asked, now));
  } catch (cause) {
    throw new GatewayRefused(EXIT_FAULT, `Redis ${refusalText(cause)}`, { cause });
  }
}

export async function explainDecision(id: string, flags: ExplainFlags): Promise<void> {
  const path = `/v1/decisions/${encodeURIComponent(id)}`;
  const decision = await askGateway<Decision>(flags, { path });
  print(flags.output, decision, () => columns(linesOf(decision)));
}

function linesOf(decision: Decision): string[][] {
  const {
    policy,
    limit,
    allows,
    counted,
    client,
    came_as: claimed,
    until,
    now,
    override,
  } = decision;
  const share = counted === undefined || counted === client ? '' : `, counted for ${counted}`;
  const made = claimed === undefined ? '' : `, last as ${claimed}`;
  const { decision_id: last, denials, since } = decision;
  return [
    ['decision', decision.asked_for],
    ['client', `${client}, known by ${decision.identity}${made}${share}`],
    ['policy', `${policy}: ${decision.reason}, ${decision.mode}`],
    ...(limit === undefined ? [] : [['limit', `${limit}: ${allows}, under ${decision.key}`]]),
    [
      'denied',
      denials === 1
        ? `once, at ${shortTime(since)} UTC`
        : `${denials} times since ${shortTime(since)}, last at ${shortTime(decision.last)} UTC as ${last}`,
    ],
    ...(until === undefined ? [] : [['until', `${shortTime(until)} UTC, by the last denial`]]),
    ...(now === undefined ? [] : [['now', standingText(now, decision)]]),
    ...(override === undefined ? [] : [['override', overrideText(override)]]),
    ...(decision.reason === 'blocked' && override === undefined
      ? [['because', 'the policy file blocks it, or an override that has ended']]
      : []),
  ];
}

function standingText(now: StandingNow, { allows, policy_mode: mode }: Decision): string {
  const { remaining, retry_after_ms: waitMs } = now;
  return [
    mode === undefined || mode === 'enforce' ? undefined : `the policy is ${mode} now`,
    now.allows === allows ? undefined : `the limit is ${now.allows} now`,
    waitMs === 0
      ? `${remaining} left`
      : `${remaining} left, room again in ${Math.ceil(waitMs / 1000)} s`,
  ]
    .filter((part) => part !== undefined)
    .join('; ');
}

function textOf({ steps, answer }: Explanation, by: string): string[] {
  const lines = [
    ...steps.map(({ about, what }) => [about, what] as const),
    ['answer', `${answer.status}, ${by}`] as const,
    ...pairs(answer.headers).map(([name, value]) => ['answer', `${name}: ${value}`] as const),
    ...(answer.body === '' ? [] : [['answer', answer.body.trimEnd()] as const]),
  ];
  // A subject is named once.
  return lines.map(
    ([about, what], i) => `${(about === lines[i - 1]?.[0] ? '' : about).padEnd(10)}${what}`,
  );
}

function pairs(headers: readonly string[]): [string, string][] {
  return headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] ?? '']] : []));
}

/** Several of one name stay in their order. */
function byName(headers: ExplainFlags['header']): Record<string, string[]> {
  const found: Record<string, string[]> = Object.create(null);
  for (const [name, value] of headers) found[name] = [...(found[name] ?? []), value];
  return found;
}
