"""An agent of the OpenAI Agents SDK. Usage: openai_agents_host.py MODEL_URL TASK COMMAND [ARGUMENT…]."""

import asyncio
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI

url, task, command, *arguments = sys.argv[1:]


async def main():
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("scripted", AsyncOpenAI(base_url=url, api_key="none"))
    async with MCPServerStdio(params={"command": command, "args": arguments}, client_session_timeout_seconds=30) as server:
        agent = Agent(name="host", model=model, mcp_servers=[server])
        print((await Runner.run(agent, task)).final_output)


asyncio.run(main())
