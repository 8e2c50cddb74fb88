/** Checks the shape of one rate limit file: keys, types and ranges. What files say together is checked in compile.ts. */
import type { Path } from '../../config/diagnostic.ts';
import { isRecord } from '../../core/is-record.ts';
import { Budget, type Findings } from './findings.ts';
import { DESCRIPTOR_KEYS, FILE_KEYS, OWN_KEY } from './keys.ts';
import { type LimitShape, limitShape } from './limit-shape.ts';
import type { Rule } from './rule.ts';
import { MapReader } from './values.ts';

export interface DomainShape {
  readonly domain: string;
  readonly descriptors: readonly DescriptorShape[];
}

export interface DescriptorShape extends Pick<Rule, 'isShadow' | 'isQuota' | 'metadata'> {
  readonly path: Path;
  readonly key: string;
  /** `key_value`, or the key if there is no value. Siblings differ in it. */
  readonly fullKey: string;
  readonly limit: LimitShape | undefined;
  readonly hasDetailedMetric: boolean;
  readonly hasValueInMetric: boolean;
  readonly isShared: boolean;
  readonly descriptors: readonly DescriptorShape[];
}

const MAX_LEVELS = 32;
/** Without a limit they have no effect. */
const OF_LIMIT = ['shadow_mode', 'quota_mode', 'detailed_metric', OWN_KEY] as const;

export function domainShape(
  value: unknown,
  findings: Findings,
  budget: Budget,
): DomainShape | undefined {
  if (!isRecord(value)) {
    findings.add('invalid-value', [], 'must be a map with a "domain" and "descriptors"');
    return undefined;
  }
  const file = new MapReader(value, [], findings);
  file.expectKeys(FILE_KEYS);
  const descriptors = descriptorShapes(file, 1, budget);
  const domain = file.text('domain');
  if (domain !== '') return { domain, descriptors };
  if (file.has('domain')) {
    if (typeof value.domain === 'string') file.refuse('domain', 'must not be empty');
  } else {
    findings.add('missing-key', ['domain'], 'is missing, it must be the domain of the requests');
  }
  return undefined;
}

function descriptorShapes(parent: MapReader, level: number, budget: Budget): DescriptorShape[] {
  const shapes: DescriptorShape[] = [];
  if (level > MAX_LEVELS && parent.has('descriptors')) {
    const message = `are nested deeper than ${MAX_LEVELS} levels`;
    parent.findings.add('ratelimit-too-large', [...parent.path, 'descriptors'], message);
    return shapes;
  }
  for (const descriptor of parent.maps('descriptors')) {
    if (budget.isSpent) break;
    if (!budget.take()) {
      const message = `is one too many: the files have more than ${Budget.MAX_DESCRIPTORS} descriptors and names to replace`;
      parent.findings.add('ratelimit-too-large', descriptor.path, message);
      break;
    }
    const shape = descriptorShape(descriptor, level, budget);
    if (shape !== undefined) shapes.push(shape);
  }
  return shapes;
}

/** Undefined if it has no key. */
function descriptorShape(
  descriptor: MapReader,
  level: number,
  budget: Budget,
): DescriptorShape | undefined {
  const { path, findings } = descriptor;
  const isUnderstood = descriptor.expectKeys(DESCRIPTOR_KEYS);
  const key = descriptor.text('key');
  const value = descriptor.text('value');
  const fullKey = value === '' ? key : `${key}_${value}`;
  const shape = {
    path,
    key,
    fullKey,
    limit: limitShape(descriptor, budget),
    isShadow: descriptor.flag('shadow_mode'),
    isQuota: descriptor.flag('quota_mode'),
    hasDetailedMetric: descriptor.flag('detailed_metric'),
    hasValueInMetric: descriptor.flag('value_to_metric'),
    isShared: descriptor.flag('share_threshold'),
    metadata: descriptor.map('metadata')?.values,
    descriptors: descriptorShapes(descriptor, level + 1, budget),
  };
  if (shape.isShared && !fullKey.includes('*')) {
    const message = 'needs a value with a "*", such as "files/*"';
    findings.add('ratelimit-share-without-wildcard', [...path, 'share_threshold'], message);
  }
  // An unknown or misplaced key may be the limit that is missing.
  if (isUnderstood) warnOfEffects(descriptor);
  if (key !== '') return shape;
  if (!descriptor.has('key')) {
    findings.add('missing-key', [...path, 'key'], 'is missing, every descriptor has a key');
  } else if (descriptor.values.key === '') {
    descriptor.refuse('key', 'must not be empty');
  }
  return undefined;
}

function warnOfEffects(descriptor: MapReader): void {
  const { path, findings, values } = descriptor;
  if (descriptor.has('rate_limit')) return;
  const hasChildren = Array.isArray(values.descriptors) && values.descriptors.length > 0;
  if (!hasChildren) {
    const message =
      'has neither "rate_limit" nor "descriptors", so requests that match it are not limited';
    findings.add('ratelimit-no-limit', path, message);
  }
  for (const key of OF_LIMIT) {
    // A control plane sends false for what is not set.
    if (descriptor.has(key) && values[key] !== false)
      descriptor.ignored(key, 'has no effect without rate_limit beside it');
  }
}
