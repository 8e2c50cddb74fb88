/** Puts together what happens to a check: its decision, its spans, and what they report. */
import type { PolicySource } from '../config/policy-file/policy-source.ts';
import { type Check, type CheckObserver, type CheckOptions, createCheck } from '../core/check.ts';
import type { CheckSpan } from '../core/check-span.ts';
import type { HeaderWatch } from '../core/header-watch.ts';
import { countOnce } from '../core/repeated-check.ts';
import type { Denials } from '../denials/denials.ts';
import { createCheckHandler, type Handle, type HandleCheck } from '../server/handler.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { inSpan, type Tracing } from '../telemetry/tracing/tracing.ts';
import type { SharedState } from './shared-state.ts';

export interface CheckPipelineOptions {
  readonly policies: PolicySource;
  readonly shared: SharedState;
  readonly denials: Denials;
  readonly headerWatch: HeaderWatch;
  readonly telemetry: Pick<Telemetry, 'decisions' | 'proxies'>;
  readonly tracing: Tracing;
  readonly handle: Handle;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export function createCheckPipeline(options: CheckPipelineOptions): HandleCheck {
  const { policies, headerWatch, telemetry, handle, now } = options;
  return createCheckHandler({
    handle,
    check: countOnce(checkFor(options)),
    policies,
    now,
    onMisconfigured: telemetry.proxies.misconfigured,
    onParsed: (dialect, request, set) => headerWatch.see(dialect, request, set),
  });
}

/** A sampled check is made for its span; all others share one. */
function checkFor({ shared, denials, telemetry, tracing }: CheckPipelineOptions): Check {
  const { backend, local, salts, overrides } = shared;
  const options: CheckOptions = {
    store: backend.store,
    local,
    salts,
    overrides,
    newId: (decision, denied, isShadow) => denials.name(decision, denied, isShadow),
    observer: checkObserver(telemetry, denials),
  };
  const check = createCheck(options);
  const { startSpan } = tracing;
  if (startSpan === undefined) return check;
  const checkIn = (span?: CheckSpan) =>
    span === undefined ? check : createCheck({ ...options, span });
  return (request, set, nowMs) =>
    inSpan(
      startSpan(request.headers),
      (span) => checkIn(span)(request, set, nowMs),
      (decision) => decision,
    );
}

function checkObserver(
  { decisions, proxies }: CheckPipelineOptions['telemetry'],
  denials: Denials,
): CheckObserver {
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
