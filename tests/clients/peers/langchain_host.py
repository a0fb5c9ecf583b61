"""An agent of LangChain with its MCP adapters. Usage: langchain_host.py MODEL_URL TASK COMMAND [ARGUMENT…]."""

import asyncio
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI

url, task, command, *arguments = sys.argv[1:]


async def main():
    client = MultiServerMCPClient({"repertoire": {"transport": "stdio", "command": command, "args": arguments}})
    async with client.session("repertoire") as session:
        model = ChatOpenAI(model="scripted", base_url=url, api_key="none")
        agent = create_agent(model, await load_mcp_tools(session))
        answer = await agent.ainvoke({"messages": [{"role": "user", "content": task}]})
        print(answer["messages"][-1].content)


asyncio.run(main())
