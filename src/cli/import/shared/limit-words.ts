/** Finds what looks like a rate limit in plugins that headgate does not know. */
import type { YamlNode } from './yaml-node.ts';

/** `rate-limiting_902`, `customRateLimit`, `throttle`; not `generate-id`. */
const NAME = /(?<![A-Za-z])rate|Rate|rate[-_]?limit|throttl|quota/;
const PERIOD =
  /^(?:(?:per|requests_per|limit_per)_?)?(?:second|minute|hour|day|week|month|year)s?$/;
const WINDOW = /^(?:window|period|interval|time_?window)/;
const COUNT = /^(?:limit|average|burst|requests|max_?requests|rate)s?$/;

export function isLimitName(name: string): boolean {
  return NAME.test(name) || NAME.test(name.toLowerCase());
}

const MAX_DEPTH = 6;

/** A number for a period (`minute: 5`), or a number beside a window (`limit: [5], window_size: [60]`), at any depth. */
export function hasLimits(node: YamlNode | undefined, depth = 0): boolean {
  if (node === undefined || depth > MAX_DEPTH) return false;
  const entries = node.entries();
  return (
    isLimit(entries.map(([key, value]) => [key, value.texts()])) ||
    [...entries.map(([, value]) => value), ...node.items()].some((each) =>
      hasLimits(each, depth + 1),
    )
  );
}

/** The options of one level, each with its values. */
export function isLimit(options: readonly (readonly [string, readonly string[]])[]): boolean {
  const numbers = options
    .filter(([, values]) => values.length > 0 && values.every((each) => /^\d+(\.\d+)?$/.test(each)))
    .map(([key]) => key.toLowerCase());
  const keys = options.map(([key]) => key.toLowerCase());
  if (numbers.some((key) => PERIOD.test(key))) return true;
  return numbers.some((key) => COUNT.test(key)) && keys.some((key) => WINDOW.test(key));
}
