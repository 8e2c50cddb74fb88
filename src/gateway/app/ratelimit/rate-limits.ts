/** The rate limit service of a gateway: its rules, how calls are counted, and what operators see of them. */
import type { RateLimitSettings } from '../../config/settings/environment.ts';
import type { AnswerStyle } from '../../core/matching/policy-set.ts';
import type { Policy } from '../../core/policy.ts';
import { createRateLimiting, type RateLimiting } from '../../ratelimit/rate-limiting.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { inSpan, type Tracing } from '../../telemetry/tracing/tracing.ts';
import { type CheckPipelineOptions, denialEvents } from '../check-pipeline.ts';
import type { OpenResources } from '../open-resources.ts';
import { rateLimitService } from './rate-limit-service.ts';
import { openRules } from './rule-loading.ts';

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
