"""FastMCP's client: its own Skills extension where the connection is a modern one, its older functions everywhere.

Usage: fastmcp_client.py MODE TARGET [ARGUMENT…], where TARGET is a URL or the command of a server.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.skills import SkillsClientExtension
from fastmcp.utilities import skills as classic

from expected import BODY_START, FILES, SKILLS

mode, target, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]


async def main():
    transport = StdioTransport(command=target, args=arguments, keep_alive=False) if arguments else target
    async with Client(transport, mode=mode, extensions=[SkillsClientExtension()]) as client:
        loaded = await client.call_tool("load_skill", {"name": "csv-report"})
        assert BODY_START in loaded.content[0].text
        summaries = await classic.list_skills(client)
        assert [summary.name for summary in summaries] == SKILLS, summaries
        assert all(summary.description for summary in summaries)
        said = f"{client.protocol_version}: list_skills of old"
        if mode != "legacy":
            listed = await client.list_skills()
            assert sum(len(skill.resources) for skill in listed) == FILES, listed
            for skill in listed:
                assert (await client.get_skill(skill.uri)).resources == skill.resources
            said += f", list_skills and get_skill of {len(listed)} skills"
        print(said + ", " + await download(client))


async def download(client):
    with tempfile.TemporaryDirectory() as directory:
        paths = await classic.sync_skills(client, directory)
        assert sorted(path.name for path in paths) == SKILLS, paths
        assert (Path(directory) / "csv-report" / "assets" / "dot.png").read_bytes().startswith(b"\x89PNG")
        files = [path for path in Path(directory).rglob("*") if path.is_file()]
        assert len(files) == FILES, files
    return f"sync_skills of {FILES} files"


asyncio.run(main())
