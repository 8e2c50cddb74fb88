/** Mistakes in limits that charge afterwards. */
import { mostOf } from '../../core/counting/largest-limit.ts';
import { isClaimed } from '../../core/policy.ts';
import type { DiagnosticDraft, Path } from '../diagnostic.ts';
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
  const { unit, reserve, refund, count_rejected } = limit;
  yield* keyMistakes(limit, path);
  yield* reserveMistakes(charged);
  if (unit !== undefined) yield* sizeMistakes(charged, unit);
  if (unit === undefined && reserve === undefined && refund === undefined) return;
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
  if (unknown !== undefined && (reserve === undefined || isBelow(unknown, reserve))) {
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

function isBelow(unknown: number, reserve: NonNullable<LimitEntry['reserve']>): boolean {
  return typeof reserve === 'number' && unknown < reserve;
}

/** The entries of a longer log take long to find. */
const MAX_REFUNDED_LOG = 10_000;

function* logMistakes({ limit, cost, path, identity }: Charged): Mistakes {
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
  } else if (rate.limit > largestFor(limit, MAX_REFUNDED_LOG, identity)) {
    const most = largestFor(limit, MAX_REFUNDED_LOG, identity);
    const message = `sliding-window-log refunds up to a limit of ${most}${becauseOf(limit, identity)}, not ${rate.limit}: ${remedy}`;
    yield { rule, path, message };
  }
}

/** A limit that is cut would be lower than the file says, so it is refused. */
function* sizeMistakes({ limit, path, identity }: Charged, unit: string): Mistakes {
  const { rate, algorithm, burst } = limit;
  const most = largestFor(limit, mostOf({ algorithm, windowMs: rate.windowMs }, true), identity);
  const isFixed = algorithm === 'fixed-window';
  const remedy = isFixed
    ? 'lower it'
    : 'lower it, shorten the window, or add "algorithm: fixed-window"';
  const tooLarge = (number: number) =>
    `${number} ${unit} per ${rate.window} are too many to count exactly, the maximum is ${most} with ${algorithm}${becauseOf(limit, identity)}: ${remedy}`;
  const rule = 'invalid-value';
  if (rate.limit > most) yield { rule, path, message: tooLarge(rate.limit) };
  if (burst !== undefined && burst > most) {
    yield { rule, path: [...path, 'burst'], message: tooLarge(burst) };
  }
}

function largestFor(
  limit: LimitEntry,
  most: number,
  identity: IdentitySection | undefined,
): number {
  return Math.floor(most / factorOf(limit, identity));
}

/** By which the limit is multiplied for the widest network and the unverified keys in it. */
function factorOf({ per }: LimitEntry, identity: IdentitySection | undefined): number {
  if (identity === undefined) return 1;
  const widest = per === 'global' ? 1 : (prefixesOf(identity).at(-1)?.factor ?? 1);
  return widest * (isClaimed(per) ? identity.api_key.unverified_factor : 1);
}

function becauseOf(limit: LimitEntry, identity: IdentitySection | undefined): string {
  const factor = factorOf(limit, identity);
  return factor === 1
    ? ''
    : ` (unlisted keys and wider networks get up to ${factor} times as many)`;
}
