/** A worker process as node:cluster has it. */
import type { Worker } from 'node:cluster';

export type ForkedWorker = Pick<Worker, 'id' | 'process' | 'isConnected' | 'send' | 'on' | 'once'>;

/** Resolves once no more messages of the worker can come. */
export function exitOf(worker: ForkedWorker): Promise<{ exitCode: number; how: string }> {
  return new Promise((resolve) => {
    worker.once('exit', (code, signal) => {
      const end = () => resolve({ exitCode: code ?? 1, how: signal ?? `exit code ${code}` });
      // Its last messages may arrive after the exit.
      if (worker.isConnected()) worker.once('disconnect', end);
      else end();
    });
    worker.on('error', (error) => {
      // It could not be started. Any other error comes from its channel, and the exit follows.
      if (worker.process.pid === undefined) resolve({ exitCode: 1, how: error.message });
    });
  });
}
