#!/usr/bin/env python3
"""FastMCP's server of a directory of skills: fastmcp_server.py LIBRARY stdio|PORT."""

import logging
import sys

from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider

# Writing log lines is not what is measured.
logging.disable(logging.CRITICAL)
library, where = sys.argv[1:]
server = FastMCP("bench")
server.add_provider(SkillsDirectoryProvider(library))
if where == "stdio":
    server.run(transport="stdio", show_banner=False)
else:
    # The way that is quickest for it: no conversations to keep, one object for an answer.
    quick = {"stateless_http": True, "json_response": True, "log_level": "critical"}
    server.run(transport="http", host="127.0.0.1", port=int(where), show_banner=False, **quick)
