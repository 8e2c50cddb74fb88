"""Lists the tools of an MCP server, calls some, and prints a text for each call: its result or its error.

Version 1 of the library ends its session with the first answer that is an error, so the texts end there.
"""

import asyncio
import json
import sys

URL = sys.argv[1] + "/mcp"
TOOLS = sys.argv[2:]
texts = []


def said_by(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error)


async def call_each(session):
    await session.list_tools()
    for tool in TOOLS:
        result = await session.call_tool(tool, {})
        texts.append(result.content[0].text)


async def with_version_1():
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async with streamable_http_client(URL) as (read, write, *_):
        async with ClientSession(read, write) as session:
            await session.initialize()
            await call_each(session)


async def with_version_2(Client):
    async with Client(URL) as session:
        await session.list_tools()
        for tool in TOOLS:
            try:
                result = await session.call_tool(tool, {})
                texts.append(result.content[0].text)
            except Exception as error:
                texts.append(said_by(error))


async def main():
    try:
        from mcp.client.client import Client
    except ImportError:
        return await with_version_1()
    await with_version_2(Client)


try:
    asyncio.run(main())
except BaseException as error:
    texts.append(said_by(error))
print("texts " + json.dumps(texts), flush=True)
