"""The official Python client: tools, prompts, resources, and the extension's methods, which it has no names for.

Usage: python_sdk.py MODE TARGET [ARGUMENT…], where TARGET is a URL or the command of a server.
"""

import asyncio
import hashlib
import sys
from typing import Any, Literal

from mcp import Client, StdioServerParameters
from mcp_types import Request, RequestParams, Result

from expected import BODY_START, FILES, SKILLS, TOOLS

mode, target, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]


class ListSkills(Request[RequestParams | None, Literal["skills/list"]]):
    method: Literal["skills/list"] = "skills/list"
    params: RequestParams | None = None


class Skills(Result):
    skills: list[dict[str, Any]]


async def main():
    server = StdioServerParameters(command=target, args=arguments) if arguments else target
    async with Client(server, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == TOOLS
        # A client of this name is not known to show instructions.
        assert all(f"<name>{name}</name>" in tools["load_skill"].description for name in SKILLS), tools["load_skill"]
        assert "`load_skill` lists the skills" in client.instructions, client.instructions
        loaded = await client.call_tool("load_skill", {"name": "csv-report"})
        assert not loaded.is_error and loaded.structured_content is None
        assert BODY_START in loaded.content[0].text, loaded.content[0].text
        refused = await client.call_tool("load_skill", {"name": "no-such-skill"})
        assert refused.is_error, refused
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == SKILLS
        prompt = await client.get_prompt("csv-report", {"arguments": "sales.csv"})
        assert "sales.csv" in prompt.messages[0].content.text
        resources = (await client.list_resources()).resources
        assert [resource.name for resource in resources] == SKILLS
        listed = await client.session.send_request(ListSkills(), Skills)
        files = [file for skill in listed.skills for file in skill["resources"]]
        assert len(files) == FILES, files
        for file in files:
            content = (await client.read_resource(file["uri"])).contents[0]
            data = bytes_of(content)
            assert len(data) == file["size"], file
            assert f"sha256:{hashlib.sha256(data).hexdigest()}" == file["digest"], file
        print(f"{client.protocol_version}: {len(TOOLS)} tools, {len(SKILLS)} prompts, {len(files)} files with their digests")


def bytes_of(content):
    import base64

    return content.text.encode() if hasattr(content, "text") else base64.b64decode(content.blob)


asyncio.run(main())
