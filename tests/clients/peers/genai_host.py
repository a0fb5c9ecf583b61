"""google-genai with a session of MCP as its tool. Usage: genai_host.py MODEL_URL TASK COMMAND [ARGUMENT…]."""

import asyncio
import sys

from google import genai
from google.genai import types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

url, task, command, *arguments = sys.argv[1:]


async def main():
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=url))
    async with stdio_client(StdioServerParameters(command=command, args=arguments)) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            await client.aio.models.generate_content(model="scripted", contents=task, config={"tools": [session]})


asyncio.run(main())
