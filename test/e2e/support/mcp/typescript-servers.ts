/** MCP servers of the official TypeScript SDKs. They count how often each of their tools ran. */
import { createServer } from 'node:http';
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

/** The types of Node and those of the SDK do not agree under exactOptionalPropertyTypes. */
type NodeRequest = Parameters<ReturnType<typeof toNodeHandler>>[0];

class Runs {
  readonly #counts = new Map<string, number>();

  /** A tool that counts. */
  tool(name: string) {
    return async () => {
      this.#counts.set(name, this.of(name) + 1);
      return { content: [{ type: 'text' as const, text: `${name} ran` }] };
    };
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }
}

/** Of revision 2026-07-28, and of older ones for clients that have them. */
export async function startServer(tools: readonly string[]): Promise<CountingServer> {
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
  const local = await listenLocally(
    createServer((request, response) => void answer(request as NodeRequest, response)),
  );
  return { ...local, ran: (tool) => runs.of(tool) };
}

/** Of revision 2025-11-25 and older ones. */
export async function startOldServer(tools: readonly string[]): Promise<CountingServer> {
  const runs = new Runs();
  const local = await listenLocally(
    createServer(async (request, response) => {
      const server = new OldMcpServer({ name: 'server', version: '1' });
      for (const name of tools) server.registerTool(name, {}, runs.tool(name));
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
      await server.connect(transport);
      await transport.handleRequest(request, response);
    }),
  );
  return { ...local, ran: (tool) => runs.of(tool) };
}
