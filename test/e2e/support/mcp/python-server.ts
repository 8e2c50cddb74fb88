/** An MCP server of the official Python SDK. */
import { join } from 'node:path';
import { freePort } from '../../../support/ports.ts';
import { accepting, startProcess } from '../../../support/process.ts';
import { pythonEnvironment } from './clients.ts';
import type { CountingServer } from './typescript-servers.ts';

const PROGRAM = join(import.meta.dirname, 'server.py');

/** `library`: the path of its first file. */
export async function startPythonServer(
  library: string,
  tools: readonly string[],
): Promise<CountingServer> {
  const port = await freePort();
  const program = startProcess('python3', [PROGRAM, String(port), ...tools], {
    env: pythonEnvironment(library),
  });
  await accepting(port, program);
  return {
    port,
    ran: (tool) =>
      program
        .output()
        .split('\n')
        .filter((line) => line === `ran ${tool}`).length,
    [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
  };
}
