/** Replays what Redis did with the model, write by write, and compares each value. It shares no code with the gateway. */
import { type Admitted, keyOf, reportThatCounted } from './admitted.ts';
import { type Counter, countersOf, type Take } from './expected-takes.ts';
import { costOf, isCharged, type Kind, numberOf, specOf } from './policies.ts';
import type { Line } from './redis-record.ts';

export interface Verdict {
  /** Values that Redis wrote, and that are those of the model. */
  readonly takes: number;
  readonly corrections: number;
  readonly settled: number;
  readonly cut: number;
  readonly gone: number;
  readonly reset: number;
  readonly counters: number;
  /** The furthest that a count was beyond its limit, and the surplus that was under way then, in units. */
  readonly mostBeyond: number;
  readonly underWayThen: number;
  /** What the model says that Redis has now. */
  readonly last: ReadonlyMap<string, { readonly value: string; readonly kind: Kind }>;
  readonly wrong: readonly string[];
}

interface Moment {
  /** In units. */
  readonly limit: number;
  readonly nowMs: number;
}

export class Judge {
  readonly #counters: ReadonlyMap<string, Counter>;
  readonly #byId: ReadonlyMap<string, Admitted>;
  /** What a settlement must still write, by key in order. */
  #expected: { key: string; value: string }[] = [];
  readonly #debtsBefore = new Map<Admitted, Map<string, number>>();
  readonly #last = new Map<string, { value: string; kind: Kind }>();
  readonly #wrong: string[] = [];
  readonly #sums = { takes: 0, corrections: 0, settled: 0, cut: 0, gone: 0, reset: 0 };
  readonly #peak = { mostBeyond: 0, underWayThen: 0 };

  readonly #marks: ReadonlySet<string>;

  /** `marks`: the tokens that were settled. */
  constructor(all: readonly Admitted[], marks: ReadonlySet<string>) {
    this.#marks = marks;
    this.#byId = new Map(all.map((each) => [each.token.id, each]));
    this.#counters = countersOf(all);
  }

  judge(lines: readonly Line[]): Verdict {
    for (const line of lines) {
      if (line.act === 'settled') this.#settled(line.id, line.keptMs);
      else if (line.act === 'reset') this.#reset(line.key, line.atMs);
      else if (line.act === 'took') this.#took(line.key, line.value);
      else this.#corrected(line.key, line.value);
    }
    this.#expectNoMore();
    for (const [key, { takes }] of this.#counters) {
      if (takes.length > 0) this.#complain(`${takes.length} takes were not counted in ${key}`);
    }
    const counters = this.#counters.size;
    return { ...this.#sums, ...this.#peak, counters, last: this.#last, wrong: this.#wrong };
  }

  #complain(what: string): void {
    if (this.#wrong.length < 20) this.#wrong.push(what);
  }

  #took(key: string, value: string): void {
    const counter = this.#counters.get(key);
    const first = counter?.takes[0];
    if (counter === undefined || first === undefined) {
      if (isCharged(key)) this.#complain(`${key} was counted without a request`);
      return;
    }
    const { ledger, takes } = counter;
    const optionsOf = ({ momentMs: nowMs, limit, inheritsFrom = '', admitted }: Take) => {
      const inherited = this.#debtsBefore.get(admitted)?.get(inheritsFrom) ?? 0;
      return { nowMs, limit, inherited };
    };
    // Those of one millisecond may be in any order.
    let place = 0;
    for (let i = 0; takes[i]?.momentMs === first.momentMs; i++) {
      const each = takes[i] as Take;
      if (ledger.take(each.units, { ...optionsOf(each), does: false }) !== value) continue;
      place = i;
      break;
    }
    const [take = first] = takes.splice(place, 1);
    const { units, momentMs, limit, admitted } = take;
    const options = optionsOf(take);
    const before = Math.max(ledger.counted(limit, momentMs), options.inherited);
    const debts = this.#debtsBefore.get(admitted) ?? new Map<string, number>();
    this.#debtsBefore.set(admitted, debts.set(key, before));
    if (before + units * counter.windowMs > limit * counter.windowMs) {
      this.#complain(`a request was admitted beyond the limit of ${key}`);
    }
    const expected = ledger.take(units, options);
    this.#compare(key, expected, value);
    this.#note(key, counter.kind, value);
    counter.underWay += this.#surplusOf(admitted, key);
    counter.bound = undefined;
    this.#sums.takes++;
  }

  #reset(key: string, atMs: number): void {
    this.#counters.get(key)?.ledger.reset(atMs);
    this.#last.delete(key);
  }

  #settled(id: string, keptMs: number): void {
    this.#expectNoMore();
    const admitted = this.#byId.get(id);
    const report = admitted && reportThatCounted(admitted);
    if (admitted === undefined || report === undefined) {
      const said = admitted?.reports.map(({ verdict }) => verdict).join();
      this.#complain(`${id} was settled, and nobody has reported it: ${said}`);
      return;
    }
    const nowMs = admitted.token.endsMs - keptMs;
    if (keptMs <= 0) this.#complain(`${id} was settled after its end`);
    const states = admitted.token.parts.flatMap((part) => {
      const spec = specOf(report.version, part.digest);
      const key = keyOf(part, report.version);
      const counter = key === undefined ? undefined : this.#counters.get(key);
      if (spec === undefined || key === undefined || counter === undefined) return [];
      const { units: reserved, momentMs } = part;
      const used = costOf(spec, report.outcome, reserved);
      const limit = numberOf(spec, part.form);
      this.#beforeCorrection(key, counter, { limit, nowMs });
      const { state, cut, written } = counter.ledger.settle(
        { momentMs, reserved, used, limit },
        nowMs,
      );
      counter.underWay -= this.#surplusOf(admitted, key);
      this.#afterCorrection(key, counter, { limit, nowMs });
      if (written !== undefined) this.#expected.push({ key, value: written });
      this.#sums[state]++;
      if (cut > 0) this.#sums.cut++;
      return [state];
    });
    const expected = (['settled', 'gone', 'reset'] as const).find((each) => states.includes(each));
    if (report.verdict !== undefined && report.verdict !== expected) {
      this.#complain(`a settlement was answered ${report.verdict} in place of ${expected}`);
    }
  }

  #corrected(key: string, value: string): void {
    const [expected] = this.#expected.splice(0, 1);
    if (expected?.key !== key) this.#complain(`a settlement has changed ${key}`);
    else {
      const { kind } = this.#counters.get(key) as Counter;
      this.#compare(key, expected.value, value);
      this.#note(key, kind, value);
    }
    this.#sums.corrections++;
  }

  #expectNoMore(): void {
    for (const { key } of this.#expected) this.#complain(`a settlement did not change ${key}`);
    this.#expected = [];
  }

  /** What the request will cost here beyond its reservation. */
  #surplusOf(admitted: Admitted, key: string): number {
    const report = this.#marks.has(admitted.token.id) ? reportThatCounted(admitted) : undefined;
    const part = admitted.token.parts.find((each) => keyOf(each, admitted.version) === key);
    const spec = part && report && specOf(report.version, part.digest);
    if (spec === undefined || part === undefined || report === undefined) return 0;
    const more = costOf(spec, report.outcome, part.units) - part.units;
    return Math.max(0, Math.min(more, numberOf(spec, part.form)));
  }

  #compare(key: string, expected: string, value: string): void {
    if (expected !== value) this.#complain(`${key} is ${value} in place of ${expected}`);
  }

  #note(key: string, kind: Kind, value: string): void {
    if (value === '') this.#last.delete(key);
    else if (kind !== 'log') this.#last.set(key, { kind, value });
  }

  #beforeCorrection(key: string, counter: Counter, { limit, nowMs }: Moment): void {
    const { ledger, windowMs, checks } = counter;
    for (let [first] = checks; first !== undefined && first.momentMs <= nowMs; [first] = checks) {
      counter.underWay += this.#surplusOf(first.admitted, key);
      checks.shift();
    }
    const { underWay } = counter;
    const beyond = Math.max(0, ledger.counted(limit, nowMs) / windowMs - limit);
    // A file with a lower limit may put counts beyond it.
    if (beyond > 0 && counter.bound !== undefined && counter.boundLimit === limit) return;
    counter.bound = underWay + beyond;
    counter.boundLimit = limit;
  }

  #afterCorrection(key: string, counter: Counter, { limit, nowMs }: Moment): void {
    const beyond = counter.ledger.counted(limit, nowMs) / counter.windowMs - limit;
    const { bound = 0 } = counter;
    if (beyond > bound)
      this.#complain(`${key} is ${beyond} beyond its limit, at most ${bound} was under way`);
    if (beyond <= this.#peak.mostBeyond) return;
    this.#peak.mostBeyond = Math.ceil(beyond);
    this.#peak.underWayThen = bound;
  }
}
