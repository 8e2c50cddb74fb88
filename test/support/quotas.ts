/** Descriptors in one line. */
import type { Descriptor, Quota } from '../../src/core/store.ts';

export interface QuotaParts extends Partial<Quota> {
  readonly limit: number;
  readonly windowMs: number;
}

export function quotaOf(parts: QuotaParts): Quota {
  return {
    algorithm: 'sliding-window-log',
    burst: parts.limit,
    countRejected: false,
    ...parts,
  };
}

export function descriptorOf(
  key: string,
  { cost = 1, ...quota }: QuotaParts & { cost?: number },
): Descriptor {
  return { key, quota: quotaOf(quota), cost };
}
