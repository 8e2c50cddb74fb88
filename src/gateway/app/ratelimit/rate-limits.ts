/** The rate limit service of a gateway: its rules, how calls are counted, and what operators see of them. */
import { ConfigError } from '../../config/diagnostic.ts';
import type { ControlPlaneSettings, RateLimitSettings } from '../../config/settings/environment.ts';
import type { AnswerStyle } from '../../core/answer-style.ts';
import type { Policy } from '../../core/policy.ts';
import { Subscription } from '../../ratelimit/control-plane/subscription.ts';
import { createRateLimiting, type RateLimiting } from '../../ratelimit/rate-limiting.ts';
import { compileRules } from '../../ratelimit/rules/compile.ts';
import type { CompiledRules } from '../../ratelimit/rules/compiled-rules.ts';
import { ruleSource } from '../../ratelimit/rules/rule-source.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { inSpan, type Tracing } from '../../telemetry/tracing/tracing.ts';
import { type CheckPipelineOptions, denialEvents } from '../check-pipeline.ts';
import type { OpenResources } from '../open-resources.ts';
import { reloadOnChange } from '../reload-on-change.ts';
import { rateLimitService } from './rate-limit-service.ts';

export interface RateLimitsOptions
  extends Pick<CheckPipelineOptions, 'shared' | 'denials' | 'tracing' | 'handle' | 'now'> {
  readonly settings: RateLimitSettings;
  readonly telemetry: Pick<Telemetry, 'decisions' | 'rateLimits'>;
  readonly resources: OpenResources;
}

export type RateLimits = Awaited<ReturnType<typeof openRateLimits>>;

const STYLE: AnswerStyle = { reset: 'delta', retryAfterJitterSeconds: 0, body: 'json' };

/** Throws a ConfigError if the rules are in files with mistakes. */
export async function openRateLimits(options: RateLimitsOptions) {
  const { settings, telemetry, tracing, handle, resources } = options;
  const limiting = limitingFor(options);
  const events = telemetry.rateLimits;
  const reload = openRules({ settings, limiting, events, resources });
  return {
    service: rateLimitService({ answer: inSpans(limiting.answer, tracing), handle }),
    /** There is one for each rule in force. */
    policies: (): readonly Policy[] => limiting.current?.policies ?? [],
    isHealthy: () => limiting.current !== undefined || isHealthyWithout(settings),
    reload,
  };
}

function isHealthyWithout({ controlPlane }: RateLimitSettings): boolean {
  return controlPlane !== undefined && controlPlane.beforeLimits !== 'unhealthy';
}

function limitingFor(options: RateLimitsOptions): RateLimiting {
  const { settings, shared, denials, telemetry, now } = options;
  const { windows, isQuota, headers, hasBody, hasMetadata, isShadow } = settings;
  return createRateLimiting({
    store: shared.backend.store,
    local: shared.local,
    salts: shared.salts,
    overrides: shared.overrides,
    counting: { windows, isQuota },
    passesBeforeLimits: settings.controlPlane?.beforeLimits === 'allow',
    terms: { headers, hasBody, hasMetadata, isShadow, style: STYLE },
    events: {
      ...denialEvents(denials, telemetry.decisions),
      counted: telemetry.rateLimits.counted,
    },
    now,
  });
}

function inSpans(answer: RateLimiting['answer'], { startSpan }: Tracing): RateLimiting['answer'] {
  if (startSpan === undefined) return answer;
  return (call, headers) =>
    inSpan(
      startSpan(headers),
      (span) => answer(call, headers, span),
      ({ decision }) => decision,
    );
}

/** Longer than a start takes with a control plane that has limits. */
const FIRST_REMINDER_MS = 3_000;
const NEXT_REMINDER_MS = 60_000;

/** Reads the files again. A control plane sends changes itself. */
type Reload = () => Promise<void>;

interface RulesOptions {
  readonly settings: RateLimitSettings;
  readonly limiting: Pick<RateLimiting, 'load' | 'current'>;
  readonly events: Telemetry['rateLimits'];
  readonly resources: OpenResources;
}

/** Throws a ConfigError if files have mistakes. */
function openRules(options: RulesOptions): Reload {
  const { controlPlane } = options.settings;
  return controlPlane === undefined ? fromFiles(options) : fromControlPlane(controlPlane, options);
}

function fromFiles({ settings, limiting, events }: RulesOptions): Reload {
  const { config: path = '', mergesDomains: mergeDomains } = settings;
  const source = ruleSource({ path, mergeDomains });
  const load = (rules: CompiledRules) => {
    limiting.load(rules);
    events.loaded(rules.all.length);
  };
  load(source.read());
  return reloadOnChange(source, {
    reload: async () => load(await source.readAgain()),
    refused: events.refused,
  });
}

function fromControlPlane(
  controlPlane: ControlPlaneSettings,
  { settings, limiting, events, resources }: RulesOptions,
): Reload {
  const { host, port, node, nodeMetadata, headers, beforeLimits, lastGood, tls } = controlPlane;
  resources.addClosable(
    remindOfMissingLimits(
      () => limiting.current !== undefined,
      () => events.missing(beforeLimits === 'allow' ? 'pass' : 'fail'),
    ),
  );
  resources.addClosable(
    new Subscription({
      target: { host, port },
      node: { id: node, metadata: nodeMetadata },
      headers,
      tls,
      lastGood,
      apply(files) {
        try {
          const rules = compileRules(files, { mergeDomains: settings.mergesDomains });
          limiting.load(rules);
          events.loaded(rules.all.length);
          return [];
        } catch (error) {
          if (error instanceof ConfigError) return error.mistakes;
          throw error;
        }
      },
      events: {
        connected: events.controlPlaneConnected,
        disconnected: events.controlPlaneLost,
        applied: () => {},
        refused: (_version, mistakes) => events.refused(mistakes),
        restored: events.lastGoodUsed,
        notRestored: events.refused,
        notKept: (reason) => events.refused([`the last limits are not kept: ${reason}`]),
      },
    }),
  );
  return async () => {};
}

/** Until there are limits, which stay in force from then on. */
function remindOfMissingLimits(hasLimits: () => boolean, remind: () => void) {
  let timer: NodeJS.Timeout;
  const remindAfter = (delayMs: number) => {
    timer = setTimeout(() => {
      if (hasLimits()) return;
      remind();
      remindAfter(NEXT_REMINDER_MS);
    }, delayMs).unref();
  };
  remindAfter(FIRST_REMINDER_MS);
  return { close: () => clearTimeout(timer) };
}
