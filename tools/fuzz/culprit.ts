/** Finds the connection that makes a gateway crash among those that were open, and what of it is needed. */
import { drive } from './drive.ts';
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts';
import { ordinaryMistake } from './ordinary-checks.ts';
import type { Plan, Step } from './plan.ts';

export interface Culprit {
  readonly plan: Plan;
  readonly crash: string;
}

const FIND_WITHIN_MS = 120_000;
const SHRINK_WITHIN_MS = 90_000;
/** A crash may depend on how the bytes arrive. */
const ATTEMPTS = [2, 20];
const SHRINK_ATTEMPTS = 12;

/** Undefined if none of them makes it crash alone. The likeliest come first. */
export async function findCulprit(
  suspects: readonly Plan[],
  options: GatewayOptions,
): Promise<Culprit | undefined> {
  await using trial = new Trial(options);
  const untilMs = performance.now() + FIND_WITHIN_MS;
  for (const attempts of ATTEMPTS) {
    for (const plan of suspects) {
      if (performance.now() > untilMs) return undefined;
      const crash = await trial.crash(plan, attempts);
      if (crash !== undefined) return shrink({ plan, crash }, trial);
    }
  }
  return undefined;
}

/** Leaves out steps as long as the rest makes it crash, too. */
async function shrink(found: Culprit, trial: Trial): Promise<Culprit> {
  const untilMs = performance.now() + SHRINK_WITHIN_MS;
  let best = found;
  for (let size = Math.ceil(found.plan.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < best.plan.steps.length && performance.now() < untilMs; ) {
      const steps = best.plan.steps.toSpliced(at, size);
      const crash = await trial.crash({ ...best.plan, steps }, SHRINK_ATTEMPTS);
      if (crash === undefined) at += size;
      else best = { plan: { ...best.plan, steps }, crash };
    }
  }
  const together = best.plan.steps.map((step): Step => ({ ...step, pause: 'none' }));
  const plan = { ...best.plan, steps: together };
  const crash = await trial.crash(plan, SHRINK_ATTEMPTS);
  return crash === undefined ? best : { plan, crash };
}

/** A gateway that is started again after each crash. */
class Trial implements AsyncDisposable {
  readonly #options: GatewayOptions;
  #gateway: Gateway | undefined;

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  async crash(plan: Plan, attempts: number): Promise<string | undefined> {
    this.#gateway ??= await startGateway(this.#options);
    const gateway = this.#gateway;
    for (let i = 0; i < attempts && gateway.crashes.length === 0; i++) {
      await drive(plan, gateway.places[plan.port]);
    }
    // Its answers come after what the connection caused.
    const mistake = gateway.crashes.length === 0 ? await ordinaryMistake(gateway) : undefined;
    const [crash = mistake] = gateway.crashes;
    if (crash === undefined) return undefined;
    this.#gateway = undefined;
    await gateway[Symbol.asyncDispose]();
    return crash;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gateway?.[Symbol.asyncDispose]();
  }
}
