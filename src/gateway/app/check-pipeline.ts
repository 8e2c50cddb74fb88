import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, type CheckOptions, createCheck } from '../core/check.ts';
import type { Decision, Denied } from '../core/counting/decision.ts';
import type { HeaderWatch, HeaderWatchEvents } from '../core/header-watch.ts';
import { countOnce } from '../core/repeated-check.ts';
import type { Denials } from '../denials/denials.ts';
import { DIALECTS } from '../dialects/index.ts';
import { createCheckHandler, type Handle, type HandleCheck } from '../server/handler.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { inSpan, type Tracing } from '../telemetry/tracing/tracing.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { SharedState } from './shared-state.ts';

export interface CheckPipelineOptions
  extends Pick<GatewayOptions, 'environment' | 'policies' | 'now'> {
  readonly shared: Pick<SharedState, 'backend' | 'local' | 'salts' | 'overrides' | 'keys'>;
  readonly denials: Denials;
  readonly headerWatch: HeaderWatch;
  readonly telemetry: Pick<Telemetry, 'decisions' | 'proxies'>;
  readonly tracing: Tracing;
  readonly handle: Handle;
  readonly issueToken: CheckOptions['issueToken'];
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
function checkFor(given: CheckPipelineOptions): Check {
  const { shared, denials, telemetry, tracing, issueToken, environment } = given;
  const { backend, local, salts, overrides, keys } = shared;
  const { decisions, proxies } = telemetry;
  const { newId, wouldDeny } = denialEvents(denials, decisions);
  const options: CheckOptions = {
    store: backend.store,
    ...{ local, salts, overrides, keys },
    newId,
    issueToken,
    // A store in this process is never late.
    deadline:
      environment.redis && (() => sleep(environment.storeTimeoutMs, undefined, { ref: false })),
    observer: {
      identified: decisions.identified,
      planned: decisions.planned,
      unmatched: decisions.unmatched,
      untrustedProxy: proxies.untrustedProxy,
      headersIgnored: proxies.headersIgnored,
      policyUnknown: proxies.policyUnknown,
      wouldDeny,
    },
  };
  const check = createCheck(options);
  const { startSpan } = tracing;
  if (startSpan === undefined) return check;
  return (request, set, nowMs) => {
    const span = startSpan(request.headers);
    const decide = span === undefined ? check : createCheck({ ...options, span });
    return inSpan(
      span,
      () => decide(request, set, nowMs),
      (decision) => decision,
    );
  };
}

/** What checks and calls of the rate limit service report of denials. */
export function denialEvents(denials: Denials, decisions: Telemetry['decisions']) {
  return {
    newId: (decision: Decision, denied: Denied, isShadow: boolean) =>
      denials.name(decision, denied, isShadow),
    wouldDeny(decision: Decision): void {
      decisions.wouldDeny(decision);
      denials.wouldDeny(decision);
    },
  };
}

/** Adds to a report of an unseen header whether `headgate proxy-config` has a remedy for the proxy. */
export function headerReports(proxies: Telemetry['proxies']): HeaderWatchEvents {
  return {
    headerUnseen(unseen) {
      const dialect = DIALECTS.find(({ name }) => name === unseen.dialect);
      proxies.headerUnseen(unseen, dialect?.hasProxyConfig ?? false);
    },
    headerArrived: proxies.headerArrived,
    headerSeen: proxies.headerSeen,
  };
}
