"""An agent of pydantic-ai. Usage: pydantic_ai_host.py INSTRUCTIONS MODEL_URL TASK COMMAND [ARGUMENT…].

INSTRUCTIONS is `with` to show the model those of the server, and `without` for the default.
"""

import asyncio
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

instructions, url, task, command, *arguments = sys.argv[1:]


async def main():
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=url, api_key="none"))
    server = MCPToolset(StdioTransport(command=command, args=arguments), include_instructions=instructions == "with")
    async with Agent(model, toolsets=[server]) as agent:
        print((await agent.run(task)).output)


asyncio.run(main())
