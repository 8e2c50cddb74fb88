/** The rate limit service of a gateway: its rules, how calls are counted, and what operators see of them. */
import type { RateLimitSettings } from '../../config/settings/environment.ts';
import type { AnswerStyle } from '../../core/matching/policy-set.ts';
import type { Policy } from '../../core/policy.ts';
import type { Denials } from '../../denials/denials.ts';
import type { HitOutcome } from '../../ratelimit/events.ts';
import { createRateLimiting, type RateLimiting } from '../../ratelimit/rate-limiting.ts';
import type { UnaryService } from '../../server/grpc/grpc-server.ts';
import type { Handle } from '../../server/handler.ts';
import type { AnswerJson } from '../../server/json-server.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { inSpan, type Tracing } from '../../telemetry/tracing/tracing.ts';
import type { OpenResources } from '../open-resources.ts';
import type { SharedState } from '../shared-state.ts';
import { rateLimitService } from './rate-limit-service.ts';
import { openRules } from './rule-loading.ts';

export interface RateLimitsOptions {
  readonly settings: RateLimitSettings;
  readonly shared: Pick<SharedState, 'backend' | 'local' | 'salts' | 'overrides'>;
  readonly denials: Denials;
  readonly telemetry: Pick<Telemetry, 'decisions' | 'rateLimits'>;
  readonly tracing: Tracing;
  readonly handle: Handle;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly resources: OpenResources;
}

export interface RateLimits {
  readonly service: UnaryService;
  readonly answerJson: AnswerJson;
  /** One for each rule in force. */
  policies(): readonly Policy[];
  /** Whether rules are loaded, or a start without them is healthy. */
  isHealthy(): boolean;
  /** Reads the files again. */
  reload(): Promise<void>;
}

const STYLE: AnswerStyle = { reset: 'delta', retryAfterJitterSeconds: 0, body: 'json' };

/** Throws a ConfigError if the rules are in files with mistakes. */
export async function openRateLimits(options: RateLimitsOptions): Promise<RateLimits> {
  const { settings, telemetry, tracing, handle, resources } = options;
  const limiting = limitingFor(options);
  const events = telemetry.rateLimits;
  const loading = openRules({ settings, limiting, events, resources });
  const service = rateLimitService({ answer: inSpans(limiting.answer, tracing), handle });
  return {
    service,
    answerJson: service.answerJson,
    policies: () => limiting.current?.policies ?? [],
    isHealthy: () => limiting.current !== undefined || isHealthyWithout(settings),
    reload: loading.reload,
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
      newId: (decision, denied, isShadowed) => denials.name(decision, denied, isShadowed),
      counted: (limit: string, outcome: HitOutcome, hits: number) =>
        telemetry.rateLimits.counted(limit, outcome, hits),
      wouldDeny(decision) {
        telemetry.decisions.wouldDeny(decision);
        denials.wouldDeny(decision);
      },
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
