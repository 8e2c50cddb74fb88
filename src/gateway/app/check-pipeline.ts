/** Puts together what happens to a check: the decision, its telemetry, and the memory of denials. */
import type { PolicySource } from '../config/policy-file/policy-source.ts';
import { type Check, type CheckEvents, type CheckOptions, createCheck } from '../core/check.ts';
import type { HeaderWatch } from '../core/header-watch.ts';
import { countOnce } from '../core/repeated-check.ts';
import type { Denials } from '../denials/denials.ts';
import type { Arrivals } from '../server/arrivals.ts';
import { createCheckHandler, type HandleCheck } from '../server/check-handler.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Tracing } from '../telemetry/tracing/tracing.ts';
import type { SharedState } from './shared-state.ts';

export interface CheckPipelineOptions {
  readonly policies: PolicySource;
  readonly shared: SharedState;
  readonly denials: Denials;
  readonly headerWatch: HeaderWatch;
  readonly telemetry: Pick<Telemetry, 'decisions' | 'proxies'>;
  readonly tracing: Tracing;
  readonly arrivals: Arrivals;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export function createCheckPipeline(options: CheckPipelineOptions): HandleCheck {
  const { policies, denials, headerWatch, telemetry, arrivals, now } = options;
  const { decisions, proxies } = telemetry;
  return createCheckHandler({
    check: countOnce(checkFor(options)),
    policies,
    now,
    onDecided(decision, dialect, durationMs) {
      decisions.decided(decision, dialect, durationMs);
      if (decision.denial !== undefined) denials.decided(decision, dialect, durationMs);
    },
    onMisconfigured: proxies.misconfigured,
    onParsed: (dialect, request, set) => headerWatch.see(dialect, request, set),
    onFault: decisions.checkFailed,
    arrivals,
  });
}

function checkFor({ shared, denials, telemetry, tracing }: CheckPipelineOptions): Check {
  const { backend, local, salts, overrides } = shared;
  const options: Omit<CheckOptions, 'store'> = {
    local,
    salts,
    overrides,
    newId: (decision, denied, isShadow) => denials.name(decision, denied, isShadow),
    events: checkEvents(telemetry, denials),
  };
  return tracing.check((store) => createCheck({ ...options, store }), backend.store);
}

function checkEvents(
  { decisions, proxies }: CheckPipelineOptions['telemetry'],
  denials: Denials,
): CheckEvents {
  return {
    identified: decisions.identified,
    unmatched: decisions.unmatched,
    untrustedProxy: proxies.untrustedProxy,
    headersIgnored: proxies.headersIgnored,
    policyUnknown: proxies.policyUnknown,
    wouldDeny(decision) {
      decisions.wouldDeny(decision);
      denials.wouldDeny(decision);
    },
  };
}
