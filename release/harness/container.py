"""The image of `rep serve --http`, where there is a daemon that builds it."""

import re
import time

from harness.tools import NAME, REPOSITORY, Failed, Missing, run

DOCKERFILE = REPOSITORY / "deploy/Dockerfile"
IMAGE = f"{NAME}:test"
START_SECONDS = 60


def check_file():
    """Holds the file to what can be read off it: another user than root, and a check of its health."""
    text = DOCKERFILE.read_text()
    last = text[text.rindex("\nFROM ") :]
    user = re.search(r"^USER (\d+):\d+$", last, re.MULTILINE)
    if not user or user.group(1) == "0":
        raise Failed("deploy/Dockerfile runs the server as root")
    if "\nHEALTHCHECK " not in last:
        raise Failed("deploy/Dockerfile has no HEALTHCHECK")
    return f"user {user.group(1)}, with a check of its health"


def build():
    """Builds the image, starts it without a network of its own, and waits until it says that it is healthy."""
    try:
        run(["docker", "info"])
    except (Failed, Missing):
        raise Missing("no daemon of docker answers") from None
    run(["docker", "build", "--file", DOCKERFILE, "--tag", IMAGE, REPOSITORY])
    arguments = ["serve", "--http", "0.0.0.0:7437"]
    name = run(["docker", "run", "--detach", "--read-only", "--tmpfs", "/var/lib/repertoire:uid=10001", IMAGE, *arguments])
    try:
        deadline = time.monotonic() + START_SECONDS
        while run(["docker", "inspect", "--format", "{{.State.Health.Status}}", name.strip()]).strip() != "healthy":
            if time.monotonic() > deadline:
                raise Failed("the container is not healthy")
            time.sleep(1)
    finally:
        run(["docker", "rm", "--force", name.strip()])
    return "the container became healthy"
