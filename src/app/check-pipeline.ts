/** Puts together what happens to a check: the decision, its telemetry, and the memory of denials. */
import type { PolicySource } from '../config/policy-file/policy-source.ts';
import { type Check, type CheckEvents, createCheck } from '../core/check.ts';
import type { HeaderWatch } from '../core/header-watch.ts';
import { countOnce } from '../core/repeated-check.ts';
import type { Denials } from '../denials/denials.ts';
import { createCheckHandler, type HandleCheck } from '../server/check-handler.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { SharedState } from './shared-state.ts';

export interface CheckPipelineOptions {
  readonly policies: PolicySource;
  readonly shared: SharedState;
  readonly denials: Denials;
  readonly headerWatch: HeaderWatch;
  readonly telemetry: Pick<Telemetry, 'decisions' | 'proxies'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export function createCheckPipeline(options: CheckPipelineOptions): HandleCheck {
  const { policies, denials, headerWatch, telemetry, now } = options;
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
    onAbandoned: decisions.requestAbandoned,
  });
}

function checkFor({ shared, denials, telemetry }: CheckPipelineOptions): Check {
  const { backend, local, salts, overrides } = shared;
  return createCheck({
    store: backend.store,
    local,
    salts,
    overrides,
    newId: (decision, denied, isShadow) => denials.name(decision, denied, isShadow),
    events: checkEvents(telemetry, denials),
  });
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
