/** The rate limit service of a gateway: its rules, how calls are counted, and what operators see of them. */
import type { RateLimitSettings } from '../../config/settings/environment.ts';
import type { Decision } from '../../core/counting/decision.ts';
import type { AnswerStyle } from '../../core/matching/policy-set.ts';
import type { Policy } from '../../core/policy.ts';
import type { Denials } from '../../denials/denials.ts';
import type { Decided } from '../../ratelimit/decision-of.ts';
import type { HitOutcome } from '../../ratelimit/events.ts';
import { createRateLimiting, type RateLimiting } from '../../ratelimit/rate-limiting.ts';
import type { Arrivals } from '../../server/arrivals.ts';
import type { UnaryService } from '../../server/grpc/unary-service.ts';
import type { JsonAnswer } from '../../server/json-server.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { OpenResources } from '../open-resources.ts';
import type { SharedState } from '../shared-state.ts';
import {
  answerJson,
  type RateLimitServiceOptions,
  rateLimitService,
} from './rate-limit-service.ts';
import { openRules } from './rule-loading.ts';

export interface RateLimitsOptions {
  readonly settings: RateLimitSettings;
  readonly shared: Pick<SharedState, 'backend' | 'local' | 'salts' | 'overrides'>;
  readonly denials: Denials;
  readonly telemetry: Pick<Telemetry, 'decisions' | 'rateLimits'>;
  readonly arrivals: Arrivals;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly resources: OpenResources;
}

export interface RateLimits {
  readonly service: UnaryService;
  answerJson(written: string): Promise<JsonAnswer>;
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
  const { settings, denials, telemetry, arrivals, resources } = options;
  const limiting = limitingFor(options);
  const events = telemetry.rateLimits;
  const loading = openRules({ settings, limiting, events, resources });
  const served: RateLimitServiceOptions = {
    limiting,
    arrivals,
    events: telemetry.decisions,
    onDecided({ decision }, dialect, durationMs) {
      telemetry.decisions.decided(decision, dialect, durationMs);
      if (decision.denial !== undefined) denials.decided(decision, dialect, durationMs);
    },
  };
  return {
    service: rateLimitService(served),
    answerJson: (written) => answerJson(written, served),
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
      name: (decided, isShadowed) => named(decided, denials, isShadowed),
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

/** The client of a denied call is the descriptor that was counted. */
function named({ decision, client }: Decided, denials: Denials, isShadow: boolean): Decision {
  if (client === undefined) return decision;
  const denied = {
    client: client.current,
    isMadeUp: false,
    address: { daily: client, long: undefined, wider: [] },
    identity: 'descriptor',
  };
  return { ...decision, denial: { id: denials.name(decision, denied, isShadow), ...denied } };
}
