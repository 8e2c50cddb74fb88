/** The sampler that OTEL_TRACES_SAMPLER names: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { TracingSettings } from '../../config/settings/environment.ts';

const ROOTS: Readonly<Record<string, (argument: string) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (argument) => new TraceIdRatioBasedSampler(ratio(argument)),
};
const PARENT_BASED = 'parentbased_';

/** Throws an Error that names the setting. */
export function samplerFor({ sampler, samplerArgument }: TracingSettings): Sampler {
  const isParentBased = sampler.startsWith(PARENT_BASED);
  const name = isParentBased ? sampler.slice(PARENT_BASED.length) : sampler;
  const root = Object.hasOwn(ROOTS, name) ? ROOTS[name]?.(samplerArgument) : undefined;
  if (root === undefined) throw new Error(`OTEL_TRACES_SAMPLER: must be one of ${names()}`);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}

function names(): string {
  return Object.keys(ROOTS)
    .flatMap((name) => [name, `${PARENT_BASED}${name}`])
    .join(', ');
}

function ratio(argument: string): number {
  const value = argument === '' ? 1 : Number(argument);
  if (value >= 0 && value <= 1) return value;
  throw new Error('OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1');
}
