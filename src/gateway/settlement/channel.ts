/** The port of channels: how proxies and applications report outcomes. */
import type { Outcome } from '../core/counting/outcome.ts';

/** `settle`: POST /settle. `envoy`: access logs of Envoy over gRPC. */
export type Channel = 'settle' | 'envoy';

/**
 * `settled`: the counts are right. `repeated`: they were already. `waiting`: the store does not answer, and the gateway tries
 * again. Nothing changes for the others. `malformed`, `forged` and `ended` are about the token; `unknown_limit`: the file in
 * force has no such limit; `gone`: what was to be given back no longer counts; `reset`: the counter was reset meanwhile;
 * `elsewhere`: another gateway counted the request alone while the store failed; `lost`: too many settlements are waiting.
 */
export type SettleVerdict =
  | 'settled'
  | 'repeated'
  | 'waiting'
  | 'malformed'
  | 'forged'
  | 'ended'
  | 'unknown_limit'
  | 'gone'
  | 'reset'
  | 'elsewhere'
  | 'lost';

/** It was settled, but its units lack these: limits that count them charged what an unknown outcome costs. */
export interface UnitsMissing {
  readonly result: 'settled';
  readonly missingUnits: readonly string[];
}

/** Never rejects. If parts of one token end differently, `settled` wins. */
export type Settle = (
  token: string,
  outcome: Outcome,
  channel: Channel,
) => SettleVerdict | Promise<SettleVerdict | UnitsMissing>;
