/** Clients of the official MCP SDKs. Each calls tools as a host does, and says what the host would hand to a model. */
import { dirname, join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { startProcess } from '../../../support/process.ts';
import type { Programs } from '../../../support/programs.ts';

/** Connects, lists the tools, calls these tools in order, and resolves to a text for each call: its result or its error. */
type CallTools = (url: string, tools: readonly string[]) => Promise<string[]>;

export interface McpClient {
  readonly name: string;
  /** Whether it sends the headers of revision 2026-07-28 to a server that knows it. */
  readonly isCurrent: boolean;
  /** What the text of a denied call begins and ends with; undefined if it has nothing of the body. */
  readonly frame: readonly [before: string, after: string] | undefined;
  readonly callTools: CallTools;
}

const INFO = { name: 'client', version: '1' };
const endpoint = (url: string) => new URL('/mcp', url);

interface AnyClient {
  listTools(): Promise<unknown>;
  callTool(call: { name: string; arguments: Record<string, never> }): Promise<object>;
  close(): Promise<void>;
}

async function callEach(client: AnyClient, tools: readonly string[]): Promise<string[]> {
  const texts: string[] = [];
  await client.listTools();
  for (const name of tools) {
    const result = client.callTool({ name, arguments: {} });
    texts.push(await result.then(textOf, (error: Error) => error.message));
  }
  await client.close();
  return texts;
}

function textOf(result: object): string {
  const { content } = result as { content: readonly { text: string }[] };
  return content.map(({ text }) => text).join('');
}

export const TYPESCRIPT_CLIENTS: readonly McpClient[] = [
  {
    name: 'TypeScript 2',
    isCurrent: true,
    frame: ['Error POSTing to endpoint: ', '\n'],
    async callTools(url, tools) {
      const client = new Client(INFO, { versionNegotiation: { mode: 'auto' } });
      await client.connect(new StreamableHTTPClientTransport(endpoint(url)));
      return callEach(client, tools);
    },
  },
  {
    name: 'TypeScript 1',
    isCurrent: false,
    frame: ['Streamable HTTP error: Error POSTing to endpoint: ', '\n'],
    async callTools(url, tools) {
      const client = new OldClient(INFO);
      // Its types do not agree with themselves under exactOptionalPropertyTypes.
      const transport = new OldTransport(endpoint(url)) as Parameters<typeof client.connect>[0];
      await client.connect(transport);
      return callEach(client, tools);
    },
  },
];

const PYTHON_CLIENT = join(import.meta.dirname, 'client.py');

function pythonClient(library: string): CallTools {
  return async (url, tools) => {
    await using program = startProcess('python3', [PYTHON_CLIENT, url, ...tools], {
      env: pythonEnvironment(library),
    });
    const [, texts = '[]'] = await program.printed(/^texts (.*)$/m);
    return JSON.parse(texts);
  };
}

/** `library`: the path of its first file. */
export function pythonEnvironment(library: string): NodeJS.ProcessEnv {
  return { ...process.env, PYTHONPATH: dirname(dirname(library)) };
}

/** Those whose library is here. */
export function pythonClients(programs: Programs): readonly McpClient[] {
  const { 'python-mcp': current, 'python-mcp-1': old } = programs;
  const clients: McpClient[] = [];
  if (current !== undefined)
    clients.push({
      ...{ name: 'Python 2', isCurrent: true, frame: ['', ''] },
      callTools: pythonClient(current),
    });
  if (old !== undefined)
    clients.push({
      ...{ name: 'Python 1', isCurrent: false, frame: undefined },
      callTools: pythonClient(old),
    });
  return clients;
}
