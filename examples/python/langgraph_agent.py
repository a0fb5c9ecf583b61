"""An agent of LangGraph. Usage: langgraph_agent.py MODEL_URL SKILLS TASK; answer y if a skill may run."""

import asyncio
import sys

from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from repertoire import AsyncLibrary


def approve(request):
    return input(f"May {request['skill']} run? [y/N] ") == "y"


def function_tool(session, tool):
    async def invoke(**arguments):
        return (await session.call(tool["name"], arguments)).text

    return StructuredTool(
        name=tool["name"], description=tool["description"], args_schema=tool["parameters"], coroutine=invoke
    )


async def main(url, directory, task):
    async with AsyncLibrary(directory, exec=True, approve=approve) as library, await library.session() as session:
        tools = [function_tool(session, tool) for tool in await session.tools("openai-responses")]
        model = ChatOpenAI(model="scripted", base_url=f"{url}/v1", api_key="none").bind_tools(tools)
        system = {"role": "system", "content": await session.catalog()}

        async def think(state: MessagesState):
            return {"messages": [await model.ainvoke([system, *state["messages"]])]}

        graph = StateGraph(MessagesState)
        graph.add_node("think", think)
        graph.add_node("tools", ToolNode(tools))
        graph.add_edge(START, "think")
        graph.add_conditional_edges("think", tools_condition)
        graph.add_edge("tools", "think")
        answer = await graph.compile().ainvoke({"messages": [{"role": "user", "content": task}]})
        print(answer["messages"][-1].content)


asyncio.run(main(*sys.argv[1:]))
