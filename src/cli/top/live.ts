/** Runs `headgate top`: live on a terminal until the operator quits, otherwise once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type GatewayFlags, GatewayRefused } from '../ops-client/gateway-client.ts';
import { type ChangeFlags, operatorName } from '../ops-client/gateway-options.ts';
import { type OutputFlags, print, type Screen, screen } from '../output/output.ts';
import { reportFailure } from '../output/report-failure.ts';
import { makeChange } from './changes.ts';
import type { Form } from './form.ts';
import { type DeniedClient, gather } from './gather.ts';
import { plainText } from './plain.ts';
import { type Effect, press } from './press.ts';
import { screenLines } from './screen.ts';
import { failed, initialState, received, type TopState } from './state.ts';
import { type Key, takeTerminal } from './terminal.ts';
import { explainClient, liftForm } from './why.ts';

export interface TopFlags extends ChangeFlags, OutputFlags {
  readonly interval: number;
  readonly once?: boolean;
}

/** Rejects with GatewayRefused if it prints once and no gateway answers. */
export async function runTop({ output, interval, once, ...flags }: TopFlags): Promise<void> {
  const terminal =
    once === true || output === 'json' || !process.stdin.isTTY ? undefined : screen();
  if (terminal === undefined) {
    const { json, read } = await gather(flags);
    return print(output, json, () => plainText(read()));
  }
  const live = new Live(terminal, flags, operatorName(flags));
  const code = await runLive(live, terminal, interval).then(() => 0, reportFailure);
  // Calls that the gateway has not answered would delay the end.
  process.exit(code);
}

const TICK_MS = 1_000;

/** Resolves when the operator quits; the terminal is as before then. */
async function runLive(live: Live, screen: Screen, intervalMs: number): Promise<void> {
  const quit = Promise.withResolvers<void>();
  const terminal = takeTerminal(screen, {
    onContinued: () => live.change({}),
    onKey(key) {
      const effect = live.press(key);
      if (effect?.kind === 'quit') quit.resolve();
      else if (effect?.kind === 'suspend') terminal.suspend();
      else if (effect !== undefined) live.run(effect).catch(quit.reject);
    },
  });
  screen.onResize(() => live.change({}));
  const tick = setInterval(() => live.change({ nowMs: Date.now() }), TICK_MS);
  live.poll(intervalMs).catch(quit.reject);
  try {
    await quit.promise;
  } finally {
    clearInterval(tick);
    terminal.close();
  }
}

class Live {
  readonly #screen: Screen;
  readonly #flags: GatewayFlags;
  readonly #by: string;
  #state: TopState;
  /** Numbers of the last update that was started, and of the last one that is shown. */
  #started = 0;
  #shown = 0;

  constructor(screen: Screen, flags: GatewayFlags, by: string) {
    this.#screen = screen;
    this.#flags = flags;
    this.#by = by;
    this.#state = initialState(flags.gateway, Date.now());
  }

  change(change: Partial<TopState>): void {
    this.#show({ ...this.#state, ...change });
  }

  press(key: Key): Effect | undefined {
    const { state, effect } = press(this.#state, key);
    this.#show(state);
    return effect;
  }

  async poll(intervalMs: number): Promise<never> {
    for (;;) {
      await this.#update();
      await sleep(intervalMs);
    }
  }

  async run(effect: Effect): Promise<void> {
    switch (effect.kind) {
      case 'redraw':
        this.#screen.open();
        return this.change({});
      case 'refresh':
        return this.#update();
      case 'explain':
        return this.#explain(effect.client);
      case 'find override':
        return this.#findOverride(effect.client);
      case 'change':
        return this.#makeChange(effect.form);
    }
  }

  #show(state: TopState): void {
    this.#state = state;
    this.#screen.draw(screenLines(state, this.#screen.size()));
  }

  async #update(): Promise<void> {
    const number = ++this.#started;
    const answer = await this.#read();
    // A later update may have ended sooner, such as the one after a change.
    if (number < this.#shown) return;
    this.#shown = number;
    this.#show(answer(this.#state));
  }

  async #read(): Promise<(state: TopState) => TopState> {
    try {
      const snapshot = (await gather(this.#flags, this.#state.panes.clients.filter.trim())).read();
      return (state) => received(state, snapshot, Date.now());
    } catch (error) {
      if (!(error instanceof GatewayRefused)) throw error;
      return (state) => failed(state, error.message, Date.now());
    }
  }

  async #explain(client: DeniedClient): Promise<void> {
    const lines = await explainClient(client, this.#flags);
    const { why } = this.#state;
    if (why?.about === 'client' && why.client === client) this.change({ why: { ...why, lines } });
  }

  async #findOverride(client: DeniedClient): Promise<void> {
    const found = await liftForm(client, this.#flags);
    if (typeof found === 'string') {
      this.change({ underWay: undefined, notice: { level: 'plain', text: found } });
    } else {
      this.change({ underWay: undefined, form: found, isFiltering: false, isHelpShown: false });
    }
  }

  async #makeChange(form: Form): Promise<void> {
    const notice = await makeChange(form, { flags: this.#flags, by: this.#by });
    this.change({ underWay: undefined, notice });
    const { why } = this.#state;
    await Promise.all([
      this.#update(),
      ...(why?.about === 'client' ? [this.#explain(why.client)] : []),
    ]);
  }
}
