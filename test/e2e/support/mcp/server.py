"""An MCP server with the tools of the arguments. It prints a line for each run of a tool."""

import sys

import uvicorn

try:
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("server")
except ImportError:
    from mcp.server.fastmcp import FastMCP

    server = FastMCP("server", stateless_http=True, json_response=True)


def tool(name):
    def run() -> str:
        print("ran " + name, flush=True)
        return name + " ran"

    return run


for name in sys.argv[2:]:
    server.add_tool(tool(name), name=name, description="It counts.")
try:
    application = server.streamable_http_app(stateless_http=True, json_response=True)
except TypeError:
    application = server.streamable_http_app()
uvicorn.run(application, port=int(sys.argv[1]), log_level="error")
