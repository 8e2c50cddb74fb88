/** Turns the options of a limiter into a limit, and says what differs. */
import type { Finding } from '../shared/finding.ts';
import type { ImportedLimit } from '../shared/imported-limit.ts';
import type { SourcePlace } from '../shared/source.ts';
import { keyOf } from './key-generator.ts';
import type { LimiterCall } from './limiters.ts';
import { type Constants, numberIn } from './literals.ts';
import type { Program } from './program.ts';

export interface ReadLimiter {
  readonly call: LimiterCall;
  /** Undefined if it cannot be carried over. */
  readonly limit: ImportedLimit | undefined;
  readonly ipv6Prefix: number | undefined;
  readonly findings: readonly Finding[];
}

/** Of express-rate-limit. */
const DEFAULT_WINDOW_MS = 60_000;
const DEFAULT_LIMIT = 5;

/** What is said about options whose value is not the one in the first place. */
const REMARKS: readonly {
  readonly name: string;
  readonly unless: string;
  readonly kind: Finding['kind'];
  readonly why: string;
}[] = [
  {
    name: 'skipSuccessfulRequests',
    unless: 'false',
    kind: 'approximate',
    why: 'headgate counts before the application answers, so it counts all requests. Raise the limit to what honest clients need.',
  },
  {
    name: 'skipFailedRequests',
    unless: 'false',
    kind: 'approximate',
    why: 'headgate counts before the application answers, so it counts all requests. Raise the limit to what honest clients need.',
  },
  {
    name: 'skip',
    unless: '',
    kind: 'left-out',
    why: 'headgate does not run functions, so it counts these requests too. List clients that need no limit in "exempt", by address or API key.',
  },
  {
    name: 'handler',
    unless: '',
    kind: 'left-out',
    why: 'headgate answers 429 with JSON, or with problem+json by answers.body.',
  },
  {
    name: 'message',
    unless: '',
    kind: 'left-out',
    why: 'headgate answers 429 with JSON, or with problem+json by answers.body.',
  },
  {
    name: 'statusCode',
    unless: '429',
    kind: 'left-out',
    why: 'headgate answers 429. If clients need another status, change it in the proxy.',
  },
  {
    name: 'store',
    unless: '',
    kind: 'note',
    why: 'gateways share their counters in Redis: HEADGATE_REDIS_URL.',
  },
];

export class OptionReader {
  readonly #program: Program;
  readonly #constants: Constants;

  constructor(program: Program, constants: Constants) {
    this.#program = program;
    this.#constants = constants;
  }

  read(call: LimiterCall): ReadLimiter {
    const findings: Finding[] = [];
    const { options, place } = call;
    const what = call.name ?? 'rateLimit';
    if (call.kind === 'delay') {
      findings.push({
        place,
        kind: 'left-out',
        what: `slowDown ${call.name ?? ''}`.trim(),
        why: 'headgate does not delay requests. Keep this middleware, or write a limit.',
      });
      return { call, limit: undefined, ipv6Prefix: undefined, findings };
    }
    if (call.isOpen) {
      findings.push({
        place,
        kind: 'approximate',
        what,
        why: 'it takes options from a variable, which headgate does not follow. Check the limit and the window.',
      });
    }
    const windowMs = this.#number('windowMs', { call, findings }) ?? DEFAULT_WINDOW_MS;
    const limit = options.has('limit')
      ? this.#number('limit', { call, findings })
      : this.#number('max', { call, findings });
    const missing = options.has('limit') || options.has('max') ? undefined : DEFAULT_LIMIT;
    const generator = options.get('keyGenerator');
    const key = generator && keyOf(this.#program.text(generator.value), generator.place);
    if (key?.finding !== undefined) findings.push(key.finding);
    const per = key?.per ?? 'ip';
    findings.push(...this.#remarks(call), ...this.#zero(limit, call));
    const count = limit ?? missing;
    const isKnown =
      count !== undefined && count > 0 && !Number.isNaN(count) && !Number.isNaN(windowMs);
    const rate = isKnown
      ? this.#rate({ limit: count, windowMs }, { place, what, findings })
      : undefined;
    return { call, limit: rate && { rate, per }, ipv6Prefix: this.#prefix(options), findings };
  }

  /** Undefined without the option, NaN if it is not a literal number. */
  #number(
    name: string,
    { call, findings }: { call: LimiterCall; findings: Finding[] },
  ): number | undefined {
    const option = call.options.get(name);
    if (option === undefined) return undefined;
    const value = numberIn(this.#program, option.value, this.#constants);
    if (value !== undefined) return value;
    const what = `${name}: ${this.#program.text(option.value)}`;
    findings.push({
      place: option.place,
      kind: 'left-out',
      what,
      why: 'headgate reads literal numbers and does not run code, so this limiter has no policy. Write the number in place of this, and import again.',
    });
    return Number.NaN;
  }

  #zero(limit: number | undefined, { options, place }: LimiterCall): Finding[] {
    if (limit !== 0) return [];
    const at = (options.get('limit') ?? options.get('max'))?.place ?? place;
    return [
      {
        place: at,
        kind: 'left-out',
        what: 'limit: 0',
        why: 'it denies every request since version 7, and none before. A policy file has limits of 1 or more: list clients in "block", or let the application refuse the path.',
      },
    ];
  }

  /** Windows of headgate are whole seconds. */
  #rate(
    { limit, windowMs }: { limit: number; windowMs: number },
    { place, what, findings }: { place: SourcePlace; what: string; findings: Finding[] },
  ) {
    if (windowMs % 1_000 === 0 && windowMs > 0) return { limit, windowMs };
    const rounded = Math.max(1, Math.ceil(windowMs / 1_000)) * 1_000;
    findings.push({
      place,
      kind: 'approximate',
      what: `${what} windowMs: ${windowMs}`,
      why: `windows of headgate are whole seconds, so this one has ${rounded / 1_000} s with the same limit, which is stricter.`,
    });
    return { limit, windowMs: rounded };
  }

  #remarks({ options, name = 'rateLimit' }: LimiterCall): Finding[] {
    return REMARKS.flatMap(({ name: option, unless, kind, why }): Finding[] => {
      const found = options.get(option);
      if (found === undefined) return [];
      const written = this.#program.text(found.value);
      if (written === unless) return [];
      return [{ place: found.place, kind, what: `${option} of ${name}`, why }];
    });
  }

  #prefix(options: LimiterCall['options']): number | undefined {
    const option = options.get('ipv6Subnet');
    const value = option && numberIn(this.#program, option.value, this.#constants);
    return value !== undefined && value >= 32 && value <= 64 ? value : undefined;
  }
}
