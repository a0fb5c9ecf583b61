"""An agent of Pydantic AI. Usage: pydantic_ai_agent.py MODEL_URL SKILLS TASK; answer y if a skill may run."""

import asyncio
import sys

from pydantic_ai import Agent, Tool
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from repertoire import AsyncLibrary


def approve(request):
    return input(f"May {request['skill']} run? [y/N] ") == "y"


def function_tool(session, tool):
    async def invoke(**arguments):
        return (await session.call(tool["name"], arguments)).text

    return Tool.from_schema(invoke, tool["name"], tool["description"], tool["parameters"])


async def main(url, directory, task):
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="none"))
    async with AsyncLibrary(directory, exec=True, approve=approve) as library, await library.session() as session:
        tools = [function_tool(session, tool) for tool in await session.tools("openai-responses")]
        agent = Agent(model, instructions=await session.catalog(), tools=tools)
        print((await agent.run(task)).output)


asyncio.run(main(*sys.argv[1:]))
