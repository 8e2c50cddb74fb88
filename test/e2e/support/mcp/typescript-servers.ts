/** MCP servers of the official TypeScript SDKs. They count how often each of their tools ran. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer as OldMcpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type LocalServer, listenLocally } from '../../../support/local-server.ts';

export interface CountingServer extends LocalServer {
  /** How often the tool ran. */
  ran(tool: string): number;
}

export interface IndexedServer extends CountingServer {
  /** The values of X-Index of the requests that ran the tool, once for each run. */
  ranFor(tool: string): readonly string[];
}

/** The types of Node and those of the SDK do not agree under exactOptionalPropertyTypes. */
type NodeRequest = Parameters<ReturnType<typeof toNodeHandler>>[0];

const running = new AsyncLocalStorage<string>();

class Runs {
  readonly #indexes = new Map<string, string[]>();

  /** A tool that counts. */
  tool(name: string) {
    return async () => {
      this.add(name);
      return { content: [{ type: 'text' as const, text: `${name} ran` }] };
    };
  }

  add(name: string): void {
    this.#indexes.set(name, [...this.of(name), running.getStore() ?? '']);
  }

  of(name: string): readonly string[] {
    return this.#indexes.get(name) ?? [];
  }

  async listen(
    answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
    serves: (target: string) => boolean,
  ): Promise<IndexedServer> {
    const server = createServer((request, response) => {
      const { url = '', headers } = request;
      if (!serves(url)) response.writeHead(404).end();
      else running.run(String(headers['x-index']), () => void answer(request, response));
    });
    const local = await listenLocally(server);
    const ranFor = (tool: string) => this.of(tool);
    return { ...local, ranFor, ran: (tool) => ranFor(tool).length };
  }
}

const ALL_PATHS = (_target: string) => true;

/** Of revision 2026-07-28, and of older ones for clients that have them. */
export async function startServer(
  tools: readonly string[],
  serves = ALL_PATHS,
): Promise<IndexedServer> {
  const runs = new Runs();
  const handler = createMcpHandler(
    () => {
      const server = new McpServer({ name: 'server', version: '1' });
      for (const name of tools)
        server.registerTool(name, { inputSchema: z.object({}) }, runs.tool(name));
      return server;
    },
    { responseMode: 'json' },
  );
  const answer = toNodeHandler(handler);
  return runs.listen((request, response) => answer(request as NodeRequest, response), serves);
}

/** Runs what the body says, whatever the headers say: also each call of a batch. */
export async function startCarelessServer(serves = ALL_PATHS): Promise<IndexedServer> {
  const runs = new Runs();
  return runs.listen(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    try {
      const body = [await json(request)].flat() as {
        method?: string;
        params?: { name?: string };
      }[];
      for (const { method, params } of body)
        if (method === 'tools/call') runs.add(params?.name ?? '');
    } catch {
      response.statusCode = 400;
    }
    response.end('{}');
  }, serves);
}

/** Of revision 2025-11-25 and older ones. */
export async function startOldServer(
  tools: readonly string[],
  serves = ALL_PATHS,
): Promise<IndexedServer> {
  const runs = new Runs();
  return runs.listen(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const server = new OldMcpServer({ name: 'server', version: '1' });
    for (const name of tools) server.registerTool(name, {}, runs.tool(name));
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport);
    await transport.handleRequest(request, response);
  }, serves);
}
