/** `headgate demo`: a gateway to try out, with all that it takes. */
import { Command, InvalidArgumentError } from 'commander';

export function demoCommand(): Command {
  return new Command('demo')
    .description('show a 429: an application behind a proxy that asks, until Ctrl+C')
    .option('--port <n>', 'where the proxy listens', readPort, 8000)
    .action(async (flags: { port: number }) => {
      // Only now: other commands need nothing of it.
      const { demo } = await import('./support/run-demo.ts');
      return demo(flags);
    });
}

function readPort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('It is a port from 0 to 65535.');
}
