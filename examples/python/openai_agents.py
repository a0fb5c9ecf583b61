"""An agent of the OpenAI Agents SDK. Usage: openai_agents.py MODEL_URL SKILLS TASK; answer y if a skill may run."""

import asyncio
import sys

from agents import Agent, FunctionTool, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI
from repertoire import AsyncLibrary


def approve(request):
    return input(f"May {request['skill']} run? [y/N] ") == "y"


def function_tool(session, tool):
    async def invoke(_context, arguments):
        return (await session.call(tool["name"], arguments)).text

    return FunctionTool(tool["name"], tool["description"], tool["parameters"], invoke, strict_json_schema=False)


async def main(url, directory, task):
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("scripted", AsyncOpenAI(base_url=f"{url}/v1", api_key="none"))
    async with AsyncLibrary(directory, exec=True, approve=approve) as library, await library.session() as session:
        tools = [function_tool(session, tool) for tool in await session.tools("openai-responses")]
        agent = Agent(name="clerk", instructions=await session.catalog(), model=model, tools=tools)
        print((await Runner.run(agent, task)).final_output)


asyncio.run(main(*sys.argv[1:]))
