/** Loads the rules of the rate limit service: from files, or from a control plane. */
import { ConfigError } from '../../config/config-error.ts';
import type { ControlPlaneSettings, RateLimitSettings } from '../../config/settings/environment.ts';
import { Subscription } from '../../ratelimit/control-plane/subscription.ts';
import type { RateLimiting } from '../../ratelimit/rate-limiting.ts';
import { compileRules } from '../../ratelimit/rules/compile.ts';
import type { CompiledRules } from '../../ratelimit/rules/compiled-rules.ts';
import { ruleSource } from '../../ratelimit/rules/rule-source.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { OpenResources } from '../open-resources.ts';
import { reloadOnChange } from '../reload-on-change.ts';
import { remindOfMissingLimits } from './missing-limits.ts';

export interface RuleLoading {
  /** Reads the files again. A control plane sends changes itself. */
  reload(): Promise<void>;
}

export interface RuleLoadingOptions {
  readonly settings: RateLimitSettings;
  readonly limiting: Pick<RateLimiting, 'load' | 'current'>;
  readonly events: Telemetry['rateLimits'];
  readonly resources: OpenResources;
}

/** Throws a ConfigError if files have mistakes. */
export function openRules(options: RuleLoadingOptions): RuleLoading {
  const { config, controlPlane, mergesDomains } = options.settings;
  if (controlPlane !== undefined) {
    return fromControlPlane({ ...controlPlane, mergesDomains }, options);
  }
  return fromFiles({ path: config ?? '', mergesDomains }, options);
}

function fromFiles(
  { path, mergesDomains }: { readonly path: string; readonly mergesDomains: boolean },
  { limiting, events }: RuleLoadingOptions,
): RuleLoading {
  const source = ruleSource({ path, mergeDomains: mergesDomains });
  const load = (rules: CompiledRules) => {
    limiting.load(rules);
    events.loaded(rules.all.length);
  };
  const read = async () => {
    try {
      load(await source.readAgain());
    } catch (error) {
      // A fault in headgate while it reads a file must not end a gateway that works.
      events.refused(error instanceof ConfigError ? error.mistakes : [`cannot be read: ${error}`]);
    }
  };
  load(source.read());
  return { reload: reloadOnChange(source, read) };
}

function fromControlPlane(
  {
    host,
    port,
    node,
    nodeMetadata,
    headers,
    beforeLimits,
    lastGood,
    tls,
    mergesDomains,
  }: ControlPlaneSettings & {
    readonly mergesDomains: boolean;
  },
  { limiting, events, resources }: RuleLoadingOptions,
): RuleLoading {
  const closing = <T extends { close(): void }>(opened: T) =>
    resources.add(opened, () => opened.close());
  closing(
    remindOfMissingLimits(
      () => limiting.current !== undefined,
      () => events.missing(beforeLimits === 'allow' ? 'pass' : 'fail'),
    ),
  );
  closing(
    new Subscription({
      target: { host, port },
      node: { id: node, metadata: nodeMetadata },
      headers,
      tls,
      lastGood,
      apply(files) {
        try {
          const rules = compileRules(files, { mergeDomains: mergesDomains });
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
  return { reload: async () => {} };
}
