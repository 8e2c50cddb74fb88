/** Runs `headgate top`: live on a terminal, otherwise once. */
import { type ChangeFlags, operatorName } from '../ops-client/gateway-options.ts';
import { type OutputFlags, print, screen } from '../output/output.ts';
import { reportFailure } from '../output/report-failure.ts';
import { gather } from './gather.ts';
import { runLive } from './live.ts';
import { plainText } from './plain.ts';

export interface TopFlags extends ChangeFlags, OutputFlags {
  /** Milliseconds. */
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
  const live = runLive(terminal, { flags, intervalMs: interval, by: operatorName(flags) });
  const code = await live.then(() => 0, reportFailure);
  // Calls that the gateway has not answered would delay the end.
  process.exit(code);
}
