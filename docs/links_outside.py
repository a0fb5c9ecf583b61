"""A preprocessor of mdBook: links from pages to files outside of docs/ lead to the repository."""

import json
import posixpath
import re
import sys

LINK = re.compile(r"\]\((\.\./[^)\s]*)\)")


def outside(page, link, repository):
    """Returns the address of `link` in the repository, or `link` if it stays within the book."""
    path, _, place = link.partition("#")
    target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), path))
    if target.startswith("docs/"):
        return link
    return f"{repository}/blob/main/{target}" + (f"#{place}" if place else "")


def rewrite(items, repository):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            page = chapter.get("path") or ""
            chapter["content"] = LINK.sub(lambda found: f"]({outside(page, found[1], repository)})", chapter["content"])
            rewrite(chapter["sub_items"], repository)


if len(sys.argv) > 1 and sys.argv[1] == "supports":
    sys.exit(0)
context, book = json.load(sys.stdin)
rewrite(book.get("items") or book.get("sections"), context["config"]["output"]["html"]["git-repository-url"])
json.dump(book, sys.stdout)
