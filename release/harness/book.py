"""The documentation as a book, built by mdBook."""

import html.parser
from urllib.parse import unquote, urlsplit

from harness.tools import REPOSITORY, WORK, Failed, cargo_tool, environment, run

BOOK = REPOSITORY / "target/book"


class Page(html.parser.HTMLParser):
    """The links of a page, and the places in it that links lead to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.places |= {found[key] for key in ("id", "name") if found.get(key)}
        self.links += [found[key] for key in ("href", "src") if found.get(key)]


def check():
    """Builds the book, and follows every link in it that does not leave it."""
    cargo_tool("mdbook", "--no-default-features", "--features", "search")
    run(["mdbook", "build", REPOSITORY / "docs", "--dest-dir", BOOK], environment=environment())
    files = {path: Page(path.read_text()) for path in sorted(BOOK.rglob("*.html"))}
    faults, count = [], 0
    for path, page in files.items():
        # The page for what is missing counts its links from the top of a server.
        for link in page.links if path.name != "404.html" else []:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                faults.append(f"{path.relative_to(BOOK)}: {link} is not there")
            elif parts.fragment and target in files and unquote(parts.fragment) not in files[target].places:
                faults.append(f"{path.relative_to(BOOK)}: {link} names a place that is not there")
    if faults:
        raise Failed("\n".join(faults[:40]))
    if not list(BOOK.glob("searchindex*")):
        raise Failed("the book has no search")
    return f"{len(files)} pages, {count} links"
