import { hint } from '../../config/closest-word.ts';
import type { Path } from '../../config/diagnostic.ts';
import { isRecord } from '../../core/is-record.ts';
import type { Findings } from './findings.ts';
import { homeOf, METADATA, OWN_KEY, REPORTED } from './keys.ts';

export type Values = Readonly<Record<string, unknown>>;

/** Files are shallower. A control plane could send more than a recursion survives. */
const MAX_DEPTH = 64;

export class MapReader {
  readonly path: Path;
  readonly values: Values;
  readonly findings: Findings;

  constructor(values: Values, path: Path, findings: Findings) {
    this.values = values;
    this.path = path;
    this.findings = findings;
  }

  /** Reports keys that are not known at this place. Returns whether there is none. */
  expectKeys(known: readonly string[]): boolean {
    let areKnown = true;
    for (const key of Object.keys(this.values)) {
      if (known.includes(key)) continue;
      areKnown = false;
      this.#unexpected(key, known);
    }
    return areKnown;
  }

  text(key: string): string {
    const value = this.#value(key);
    if (typeof value === 'string') return value;
    this.#refuseType(key, 'text');
    return '';
  }

  flag(key: string): boolean {
    const value = this.#value(key);
    if (typeof value === 'boolean') return value;
    this.#refuseType(key, 'true or false');
    return false;
  }

  map(key: string): MapReader | undefined {
    const value = this.#value(key);
    if (value === undefined) return undefined;
    if (isRecord(value)) return new MapReader(value, [...this.path, key], this.findings);
    this.#refuseType(key, 'a map');
    return undefined;
  }

  *maps(key: string): Generator<MapReader> {
    const value = this.#value(key);
    if (value === undefined) return;
    if (!Array.isArray(value)) {
      this.#refuseType(key, 'a list of maps');
      return;
    }
    const path = [...this.path, key];
    for (const [i, each] of value.entries()) {
      const at = [...path, i];
      if (isRecord(each)) yield new MapReader(each, at, this.findings);
      else refuseEntry(each, at, this.findings);
    }
  }

  /** Undefined if there is none, or it is no whole number from `least` to `most`. */
  wholeNumber(key: string, least: number, most: number): number | undefined {
    const value = this.#value(key);
    if (value === undefined) return undefined;
    if (Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most) {
      return Number(value);
    }
    this.#refuseType(key, `a whole number from ${least} to ${most}`);
    return undefined;
  }

  has(key: string): boolean {
    return this.#value(key) !== undefined;
  }

  refuse(key: string, message: string): void {
    this.findings.add('invalid-value', [...this.path, key], message);
  }

  ignored(key: string, message: string): void {
    this.findings.add('ratelimit-without-effect', [...this.path, key], message);
  }

  #value(key: string): unknown {
    return Object.hasOwn(this.values, key) ? (this.values[key] ?? undefined) : undefined;
  }

  #refuseType(key: string, wanted: string): void {
    const value = this.#value(key);
    if (value === undefined || value === REPORTED) return;
    const found = typeof value === 'number' ? value : typeOf(value);
    this.refuse(key, `must be ${wanted}, not ${found}`);
  }

  #unexpected(key: string, known: readonly string[]): void {
    const home = homeOf(key);
    if (home === undefined || key === OWN_KEY) {
      const remedy = key === OWN_KEY ? ', it belongs beside rate_limit' : hintAt(key, known);
      this.findings.add('unknown-key', [...this.path, key], `is not a known key${remedy}`);
      return;
    }
    this.ignored(key, `has no effect here, move it ${home}`);
    if (key !== METADATA) checkUnused(this.values[key], [...this.path, key], this.findings);
  }
}

/** Values without effect may still hold what envoyproxy/ratelimit refuses anywhere. */
function checkUnused(value: unknown, path: Path, findings: Findings): void {
  if (path.length > MAX_DEPTH) {
    findings.add('ratelimit-too-large', path, 'is nested too deeply');
  } else if (Array.isArray(value)) {
    for (const [i, each] of value.entries()) {
      const at = [...path, i];
      if (isRecord(each)) checkUnused(each, at, findings);
      else refuseEntry(each, at, findings);
    }
  } else if (isRecord(value)) {
    for (const [key, each] of Object.entries(value)) {
      const at = [...path, key];
      if (homeOf(key) === undefined) findings.add('unknown-key', at, 'is not a known key');
      else if (key !== METADATA) checkUnused(each, at, findings);
    }
  }
}

function refuseEntry(entry: unknown, path: Path, findings: Findings): void {
  if (entry === REPORTED) return;
  findings.add('invalid-value', path, `must be a map, not ${typeOf(entry)}`);
}

function hintAt(key: string, known: readonly string[]): string {
  const meant = hint(key, known);
  return meant === '' ? `, known are ${known.join(', ')}` : meant;
}

function typeOf(value: unknown): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  if (typeof value === 'boolean') return 'true or false';
  return typeof value === 'number' ? 'a number' : 'text';
}
