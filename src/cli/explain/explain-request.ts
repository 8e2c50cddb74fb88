/** Explains a request by a policy file alone, by the counters in Redis, or by a running gateway; and a denial that a gateway remembers. */
import { withLiveCounts } from '../../gateway/app/live-counts.ts';
import { ConfigError } from '../../gateway/config/diagnostic.ts';
import { openPolicySource } from '../../gateway/config/policy-file/policy-source.ts';
import type { Environment } from '../../gateway/config/settings/environment.ts';
import { SHIPPED_POLICIES } from '../../gateway/config/shipped-files.ts';
import {
  type ExplainedRequest,
  type Explanation,
  explain,
  freshContext,
} from '../../gateway/operations/explain.ts';
import type { Input, Output } from '../../gateway/operations/operation-table.ts';
import { DEFAULT_DIALECT } from '../../gateway/operations/request-form.ts';
import { refusalText } from '../doctor/redis/refusals.ts';
import { commandEnvironment } from '../environment/commands.ts';
import { denialText } from '../ops-client/denial-text.ts';
import { type GatewayFlags, GatewayRefused, printAnswer } from '../ops-client/gateway-client.ts';
import { EXIT_FAULT } from '../output/exit-codes.ts';
import { answerLines, bySubject } from '../output/explanation-lines.ts';
import { type OutputFlags, print } from '../output/output.ts';

/** The value of `--proxy`: the name of a dialect or, in its older form, the address of the proxy. */
export interface ProxyChoice {
  readonly dialect?: string;
  readonly address?: string;
}

export interface ExplainFlags
  extends GatewayFlags,
    OutputFlags,
    Pick<ExplainedRequest, 'method' | 'peer' | 'client'> {
  readonly url?: string;
  readonly policies?: string;
  readonly header: ExplainedRequest['headers'];
  readonly metadata?: Input<'explain'>['metadata'];
  readonly proxy?: ProxyChoice;
  readonly proxyAddress: string;
  readonly live?: true;
}

type ShownExplanation = Explanation | Output<'explain'>;

type RequestFlags = ExplainFlags & { readonly url: string };

export async function explainRequest(flags: RequestFlags): Promise<void> {
  const request = requestOf(flags);
  if (flags.gateway === undefined) {
    const settings = commandEnvironment(process.env);
    const policies = flags.policies ?? settings.policies;
    const explanation = await explainHere(request, { ...settings, policies }, flags.live === true);
    const origin =
      policies === SHIPPED_POLICIES ? ' (comes with headgate; name yours with --policies)' : '';
    const file = `policies  ${policies}${origin}`;
    print(flags.output, explanation, () => [file, ...textOf(explanation, flags)]);
    return;
  }
  const { header, metadata } = flags;
  const input = { ...request, metadata, headers: valuesByName(header) };
  await printAnswer(flags, 'explain', { input, linesOf: (answer) => textOf(answer, flags) });
}

export async function explainDecision(id: string, flags: ExplainFlags): Promise<void> {
  await printAnswer(flags, 'decision', { input: { id }, linesOf: denialText });
}

/** Explains without a gateway: by the counters in Redis, or as if nothing was counted. */
async function explainHere(
  request: ExplainedRequest,
  environment: Environment,
  isLive: boolean,
): Promise<Explanation> {
  const { redis } = environment;
  const { current } = openPolicySource(environment);
  if (!isLive) return explain(request, freshContext(current, Date.now()));
  if (redis === undefined) {
    throw new ConfigError([
      'HEADGATE_REDIS_URL: --live needs it to read the counters; for a gateway that counts in memory, use --gateway URL',
    ]);
  }
  try {
    return await withLiveCounts({ target: redis, environment, policies: current }, (live) =>
      explain(request, live),
    );
  } catch (cause) {
    throw new GatewayRefused(EXIT_FAULT, `Redis ${refusalText(cause)}`, { cause });
  }
}

function requestOf(flags: RequestFlags): ExplainedRequest {
  const { method, url, header: headers, metadata, peer, client, proxy, proxyAddress } = flags;
  return {
    ...{ method, url, headers, metadata, peer, client },
    proxy: proxy?.address ?? proxyAddress,
    dialect: proxy?.dialect,
  };
}

/** Values of one name stay in their order. */
function valuesByName(headers: ExplainFlags['header']): Record<string, string[]> {
  const byName = Map.groupBy(headers, ([name]) => name);
  return Object.fromEntries(
    [...byName].map(([name, found]) => [name, found.map(([, value]) => value)]),
  );
}

function textOf(explanation: ShownExplanation, flags: ExplainFlags): string[] {
  const { steps, answer } = explanation;
  const head = [`${answer.status}, ${basisOf(explanation, flags)}`, recipientOf(answer, flags)];
  return bySubject([...steps, ...answerLines(answer, head)]);
}

function basisOf(explanation: ShownExplanation, { live, gateway }: ExplainFlags): string {
  if ('store_unavailable' in explanation && explanation.store_unavailable !== undefined) {
    return `without the counters, which cannot be read now: ${explanation.store_unavailable}`;
  }
  const isLive = live === true || gateway !== undefined;
  return isLive ? 'by the current counters' : 'if nothing was counted before';
}

/** A gateway of an older version does not say which proxy its answer is for: it is Envoy. */
function recipientOf(
  { dialect = DEFAULT_DIALECT }: { readonly dialect?: string },
  flags: ExplainFlags,
) {
  return flags.proxy?.dialect === undefined
    ? `sent to ${dialect} (the default; choose another with --proxy NAME)`
    : `sent to ${dialect}`;
}
