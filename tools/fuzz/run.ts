/** Attacks a gateway for some time, and watches whether it lives. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../test/support/random.ts';
import { drive } from './drive.ts';
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts';
import { faultsOf, ordinaryMistake } from './ordinary-checks.ts';
import type { Plan } from './plan.ts';
import { childrenOf, type Usage, usageOf } from './processes.ts';

/** The plan of the i-th connection. The same random numbers give the same plan. */
export type MakePlan = (random: Random, i: number) => Plan;

/**
 * A connection beside those of the attack, which keeps to the protocol and must be served well. Resolves to what is
 * wrong.
 */
export type Beside = (random: Random, gateway: Gateway) => Promise<string | undefined>;

export interface RunOptions {
  readonly gateway: GatewayOptions;
  readonly plan: MakePlan;
  readonly beside: Beside | undefined;
  readonly seed: number;
  readonly seconds: number;
  readonly onProgress: (text: string) => void;
}

export interface Outcome {
  readonly connections: number;
  readonly besides: number;
  readonly checks: number;
  /** What went wrong. Empty: nothing. */
  readonly problems: readonly string[];
  /** The connections that were open at the time of a crash, the newest first. */
  readonly suspects: readonly Plan[];
  readonly before: Usage;
  readonly after: Usage;
  readonly oddLines: readonly string[];
}

const PARALLEL = 24;
const BESIDES = 2;
const CHECK_EVERY_MS = 500;
const PROGRESS_EVERY_MS = 30_000;
/** A crash is noticed when so many further connections may have ended. */
const MOST_SUSPECTS = 600;
const CLOSED_WITHIN_MS = 10_000;
/** Files that a gateway opens while it runs. */
const DESCRIPTORS_MORE = 8;
/** Bytes for each process: what Node uses after a start, and before it collects garbage, is far from constant. */
const GROWTH = 500 * 1_024 * 1_024;

export function planNumber(plan: MakePlan, seed: number, i: number): Plan {
  return plan(randomOf(seed, i), i);
}

const randomOf = (seed: number, i: number) =>
  new Random(Math.imul(seed, 0x9e37_79b1) ^ Math.imul(i, 0x85eb_ca6b));

export async function run(options: RunOptions): Promise<Outcome> {
  const { plan, beside, seed, seconds, onProgress } = options;
  await using gateway = await startGateway(options.gateway);
  const problems: string[] = [];
  const first = await ordinaryMistake(gateway);
  if (first !== undefined) throw new Error(first);
  const before = usageOf(gateway.pid);
  const processes = [gateway.pid, ...childrenOf(gateway.pid)];
  const untilMs = performance.now() + seconds * 1_000;
  let isOver = false;
  void gateway.crashed.then(() => {
    isOver = true;
  });
  const recent = new Recent();
  let next = 0;
  const attack = async () => {
    while (!isOver && performance.now() < untilMs) {
      const i = next++;
      recent.begin(i);
      const made = planNumber(plan, seed, i);
      await drive(made, gateway.places[made.port]);
      recent.end(i);
    }
  };
  let besides = 0;
  const serveBeside = async () => {
    while (beside !== undefined && !isOver && performance.now() < untilMs) {
      const i = besides++;
      const mistake = await beside(randomOf(~seed, i), gateway);
      if (mistake === undefined || isOver) continue;
      problems.push(`connection ${i} beside the others: ${mistake}`);
      isOver = true;
    }
  };
  let checks = 0;
  const watch = async () => {
    let progressMs = performance.now();
    while (!isOver && performance.now() < untilMs) {
      const mistake = await ordinaryMistake(gateway);
      checks++;
      if (mistake !== undefined && problems.push(mistake) > 0) isOver = true;
      if (performance.now() - progressMs > PROGRESS_EVERY_MS) {
        progressMs = performance.now();
        onProgress(`${next} connections, ${memoryText(usageOf(gateway.pid))}`);
      }
      await Promise.race([sleep(CHECK_EVERY_MS), gateway.crashed]);
    }
  };
  const attacks = Array.from({ length: PARALLEL }, attack);
  await Promise.all([watch(), ...attacks, ...Array.from({ length: BESIDES }, serveBeside)]);
  const lost = await problemsAfter(gateway, before, processes);
  problems.push(...lost);
  problems.unshift(...gateway.crashes);
  const suspects = problems.length === 0 ? [] : recent.newestFirst();
  return {
    ...{ connections: next, besides, checks, problems, before, after: usageOf(gateway.pid) },
    suspects: suspects.map((i) => planNumber(plan, seed, i)),
    oddLines: [...gateway.oddLines],
  };
}

/** What is wrong once the attack has ended. */
async function problemsAfter(
  gateway: Gateway,
  before: Usage,
  processes: readonly number[],
): Promise<string[]> {
  if (gateway.crashes.length > 0) return [];
  const found: string[] = [];
  const most = before.descriptors + DESCRIPTORS_MORE;
  await closed(gateway, most);
  const { descriptors, residentBytes } = usageOf(gateway.pid);
  if (descriptors > most) {
    found.push(`${descriptors} descriptors are open, and ${before.descriptors} were before`);
  }
  if (residentBytes - before.residentBytes > GROWTH * processes.length) {
    found.push(`the memory grew to ${memoryText({ residentBytes, descriptors })}`);
  }
  const now = [gateway.pid, ...childrenOf(gateway.pid)];
  if (processes.some((pid) => !now.includes(pid))) found.push('a worker was lost');
  const mistake = await ordinaryMistake(gateway);
  if (mistake !== undefined) return [...found, mistake];
  for (const [name, count] of await faultsOf(gateway)) {
    if (count > 0) found.push(`${name} is ${count}`);
  }
  return found;
}

/** Resolves once so few descriptors are open, or their number has not become less for some time. */
async function closed({ pid }: Gateway, most: number): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  let sinceMs = performance.now();
  for (;;) {
    const { descriptors } = usageOf(pid);
    if (descriptors <= most) return;
    if (descriptors < least) {
      least = descriptors;
      sinceMs = performance.now();
    }
    if (performance.now() - sinceMs > CLOSED_WITHIN_MS) return;
    await sleep(100);
  }
}

export function memoryText({ residentBytes, descriptors }: Usage): string {
  return `${Math.round(residentBytes / 1_048_576)} MiB, ${descriptors} descriptors`;
}

/** The numbers of connections that are open, or ended just now. */
class Recent {
  readonly #open = new Set<number>();
  readonly #ended: number[] = [];

  begin(i: number): void {
    this.#open.add(i);
  }

  end(i: number): void {
    this.#open.delete(i);
    this.#ended.push(i);
    if (this.#ended.length > MOST_SUSPECTS) this.#ended.shift();
  }

  newestFirst(): number[] {
    return [...this.#open, ...this.#ended.toReversed()];
  }
}
