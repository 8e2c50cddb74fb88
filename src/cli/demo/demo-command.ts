import { Command, InvalidArgumentError } from 'commander';

export function demoCommand(): Command {
  return new Command('demo')
    .description('run an application behind a proxy and a gateway, to see a 429; Ctrl+C stops it')
    .option('--port <n>', 'port of the proxy; 0 picks a free one', readPort, 8000)
    .action(async (flags: { port: number }) => {
      // Loaded only now, because a gateway takes longer to load than the other commands take to run.
      const { demo } = await import('./run-demo.ts');
      return demo(flags);
    });
}

function readPort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError('It must be a port from 0 to 65535.');
}
