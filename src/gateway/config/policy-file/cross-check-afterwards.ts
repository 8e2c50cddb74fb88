/** Mistakes in limits that charge afterwards. */
import { mostOf } from '../../core/counting/largest-limit.ts';
import { isClaimed } from '../../core/policy.ts';
import type { DiagnosticDraft, Path } from '../diagnostic.ts';
import { afterwardsOf } from './afterwards-schema.ts';
import { type IdentitySection, type LimitEntry, prefixesOf } from './valid-file.ts';

export interface Charged {
  readonly limit: LimitEntry;
  /** Of the policy. */
  readonly cost: number;
  readonly path: Path;
  readonly identity: IdentitySection | undefined;
}

type Mistakes = Generator<DiagnosticDraft>;

export function* afterwardsMistakes(charged: Charged): Mistakes {
  const { limit, path } = charged;
  const { unit, count_rejected } = limit;
  yield* keyMistakes(limit, path);
  yield* reserveMistakes(charged);
  if (unit !== undefined) yield* sizeMistakes(charged, unit);
  if (afterwardsOf(limit) === undefined) return;
  if (count_rejected) {
    const message =
      'counts denied requests, which have no outcome: remove it, or charge nothing afterwards';
    yield { rule: 'rejected-and-settled', path: [...path, 'count_rejected'], message };
  }
  if (limit.algorithm === 'sliding-window-log') yield* logMistakes(charged);
}

function* keyMistakes({ unit, reserve, unknown }: LimitEntry, path: Path): Mistakes {
  const missing = (key: string, message: string): DiagnosticDraft => ({
    rule: 'missing-key',
    path: [...path, key],
    message: `is missing: ${message}`,
  });
  if (unit !== undefined && reserve === undefined) {
    yield missing('reserve', `say how many ${unit} a request takes at first, as in "reserve: 500"`);
  }
  if (unit === undefined && reserve !== undefined) {
    yield missing(
      'unit',
      'say what is reserved, as in "unit: tokens"; a fixed number of requests is the "cost" of the policy',
    );
  }
  if (typeof reserve === 'object' && unknown === undefined) {
    yield missing(
      'unknown',
      'say what a request without a valid value reserves, as in "unknown: 8000"',
    );
  }
}

function* reserveMistakes({ limit, path, identity }: Charged): Mistakes {
  const { reserve, unknown } = limit;
  const leastReserved = typeof reserve === 'object' ? 0 : (reserve ?? Number.POSITIVE_INFINITY);
  if (unknown !== undefined && unknown < leastReserved) {
    const message =
      reserve === undefined
        ? 'has no effect without a reserve, remove it'
        : `has no effect, because ${reserve} are reserved anyway: raise it or remove it`;
    yield { rule: 'unknown-without-effect', path: [...path, 'unknown'], message };
  }
  if (typeof reserve !== 'object' || !('header' in reserve) || identity === undefined) return;
  if (identity.verified_headers.includes(reserve.header)) return;
  const message = `clients may set ${reserve.header} themselves: let the proxy set it, and list it in identity.verified_headers`;
  yield { rule: 'reserve-not-verified', path: [...path, 'reserve', 'header'], message };
}

/** The entries of a longer log take long to find. */
const MAX_REFUNDED_LOG = 10_000;

function* logMistakes(charged: Charged): Mistakes {
  const { limit, cost, path } = charged;
  const { unit, reserve, rate } = limit;
  const rule = 'log-charges-afterwards';
  const remedy = 'add "algorithm: sliding-window-counter"';
  if (unit !== undefined || reserve !== undefined) {
    const what = unit ?? 'units';
    const message = `sliding-window-log cannot count ${what} that are known afterwards, ${remedy}`;
    yield { rule, path, message };
  } else if (cost !== 1) {
    const message = `sliding-window-log refunds requests with a cost of 1 only, not ${cost}: ${remedy}`;
    yield { rule, path, message };
  } else {
    const { most, because } = largestFor(MAX_REFUNDED_LOG, charged);
    const message = `sliding-window-log refunds up to a limit of ${most}${because}, not ${rate.limit}: ${remedy}`;
    if (rate.limit > most) yield { rule, path, message };
  }
}

/** A limit that is cut would be lower than the file says, so it is refused. */
function* sizeMistakes(charged: Charged, unit: string): Mistakes {
  const { limit, path } = charged;
  const { rate, algorithm, burst } = limit;
  const exact = mostOf({ algorithm, windowMs: rate.windowMs }, true);
  const { most, because } = largestFor(exact, charged);
  const isFixed = algorithm === 'fixed-window';
  const remedy = isFixed
    ? 'lower it'
    : 'lower it, shorten the window, or add "algorithm: fixed-window"';
  const tooLarge = (number: number) =>
    `${number} ${unit} per ${rate.window} are too many to count exactly, the maximum is ${most} with ${algorithm}${because}: ${remedy}`;
  const rule = 'invalid-value';
  if (rate.limit > most) yield { rule, path, message: tooLarge(rate.limit) };
  if (burst !== undefined && burst > most) {
    yield { rule, path: [...path, 'burst'], message: tooLarge(burst) };
  }
}

/** The largest limit that stays below `exact` where it is multiplied: for the widest network and the unverified keys in it. */
function largestFor(exact: number, { limit: { per }, identity }: Charged) {
  if (identity === undefined) return { most: exact, because: '' };
  const widest = per === 'global' ? 1 : (prefixesOf(identity).at(-1)?.factor ?? 1);
  const factor = widest * (isClaimed(per) ? identity.api_key.unverified_factor : 1);
  const because = ` (unlisted keys and wider networks get up to ${factor} times as many)`;
  return { most: Math.floor(exact / factor), because: factor === 1 ? '' : because };
}
