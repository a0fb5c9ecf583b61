"""Real agents and agents of frameworks without a person, talking to a model that follows a script."""

import json
import shutil
from dataclasses import dataclass

from harness import install
from harness.process import Failed, end_orphans, run
from harness.world import LIBRARY, START_SECONDS, environment
from model_server import MODEL, ModelServer, tool_entry

# So many that their names alone are more than any agent shows.
MANY = 400
TASK = "Summarise sales.csv."
SKILLS = ["csv-report", "pdf-forms", "release-notes"]
# The skill whose `paths` match a file of the project.
FOR_FILES = "release-notes"
DESCRIPTION = "Summarises CSV files as a short report."
BODY = '# CSV report\n\nBegin the answer with the word BANANA, then give one line for each column:\n\n```text\n| column | "total" |\n```'
REFERENCE = "- `region`: where it was sold; never added up\n- `amount`: in cents"

LOAD = ("load_skill", {"name": "csv-report"})
READ = ("read_skill_file", {"skill": "csv-report", "path": "references/columns.md"})
LOAD_REFERENCE = ("load_skill", {"name": "csv-report", "reference": "columns.md"})


@dataclass
class Agent:
    """How to run an agent: `prepare` writes how to reach the model and returns its command and variables; the server is added by `rep connect`."""

    prepare: callable
    # Where the catalog must be: among what stands before the messages and in them, or in the tools.
    catalog: str = "prompt"
    # Agents that keep tools for later have only the one that asks to be there.
    script: tuple = (LOAD, READ)
    seconds: int = 120
    # Where in the home directory it reads skills from.
    files: str = ""
    # True if it has a switch for single skills.
    switches: bool = True
    # Programs of ours, which are given the command of the server, are not known to `rep connect`.
    connects: bool = True
    # The numbers of skills with which its listing is compared with the simulated one.
    listings: tuple = ()
    # What it needs on its command line to run a hook that nobody has agreed to.
    hooks: tuple | None = None


def cases_of(name):
    def cases(world):
        yield "headless, scripted model", lambda: converse(world, name, AGENTS[name])
        yield "more skills than fit", lambda: finds_the_rest(world, name, AGENTS[name])
        for count in AGENTS[name].listings:
            yield f"listing of {count} skills", lambda count=count: lists_as_simulated(world, name, AGENTS[name], count)
        if AGENTS[name].hooks is not None:
            yield "prompt hook", lambda: names_the_skill(world, name, AGENTS[name])
        if AGENTS[name].files and AGENTS[name].switches:
            yield "rep disable", lambda: leaves_out_what_is_disabled(world, name, AGENTS[name])

    return cases


def pydantic_ai(world):
    yield from cases_of("pydantic-ai")(world)
    name = "pydantic-ai with instructions"
    yield "include_instructions", lambda: converse(world, name, AGENTS[name])


def google_genai(world):
    yield "a session as a tool", lambda: takes_all_tools(world)


def takes_all_tools(world):
    """google-genai fails on schemas with `"additionalProperties": false` (googleapis/python-genai#2393)."""
    place = world.place("genai")
    with ModelServer([LOAD]) as model:
        host = [install.package("genai", "bin", "python"), install.CLIENTS / "peers" / "genai_host.py"]
        run([*host, model.url, TASK, *world.stdio()], place, environment(place), 60).expect_success()
        declared = model.requests[0].tools[0]["functionDeclarations"]
    if not any(DESCRIPTION in function["description"] for function in declared):
        raise Failed(f"no description has the catalog: {json.dumps(declared)}")
    return f"{len(declared)} tools, the catalog in the description of one"


def converse(world, name, agent):
    turns = conversation(world, name, agent)
    catalog_is_there(turns[0], agent.catalog)
    catalog_comes_once(turns[0])
    offers_the_tool(turns[0])
    results_are_markdown(turns[-1])
    skills_for_files_are_named(turns[-1])
    for before, after in zip(turns, turns[1:]):
        prefix_is_stable(before, after)
    size = len(json.dumps(turns[0].body))
    return f"{len(turns)} turns; catalog in the {agent.catalog} of request 1 ({size:,} bytes), results as Markdown, a note about files, prefix stable"


def finds_the_rest(world, name, agent):
    with world.many_skills(MANY):
        request = conversation(world, name, agent)[0]
    text = json.dumps([request.frame, request.messages, request.tools])
    for wanted in ("of this MCP server", "are not listed", "`search_skills` to find", "If no skill matches"):
        if wanted not in text and json.dumps(wanted)[1:-1] not in text:
            raise Failed(f"{wanted!r} is not in the first request")
    return "the first request has the end of the catalog, and how to find the rest"


def leaves_out_what_is_disabled(world, name, agent):
    """Skills that the agent reads from files, with no server: the switch that `rep disable` writes is one that the agent follows."""
    place = world.place(name)
    with ModelServer(list(agent.script)) as model:
        command, variables = agent.prepare(place, model.url)
        shutil.copytree(LIBRARY, place / "home" / agent.files)
        # Claude Code offers a skill with `paths` once it has worked on such a file.
        skill = place / "home" / agent.files / FOR_FILES / "SKILL.md"
        skill.write_text(skill.read_text().replace("paths: [CHANGES.md]\n", ""))
        before = offered(model, command, place, variables, agent)
        switch(world, place, "disable", name)
        without = offered(model, command, place, variables, agent)
        switch(world, place, "enable", name)
        after = offered(model, command, place, variables, agent)
    wanted = [SKILLS, SKILLS[1:], SKILLS]
    if [before, without, after] != wanted:
        raise Failed(f"offered before, while disabled and after: {before}, {without}, {after}")
    return f"offered {len(before)}, {len(without)} and {len(after)} skills before, while one was disabled, and after"


def offered(model, command, place, variables, agent):
    """Returns the skills whose names are in the first requests of a conversation."""
    start = len(model.requests)
    run(command, place, environment(place, **variables), agent.seconds).expect_success()
    text = json.dumps([[request.frame, request.messages, request.tools] for request in model.requests[start:]])
    return [skill for skill in SKILLS if skill in text]


def switch(world, place, action, name):
    command = [world.rep, action, "--client", name, SKILLS[0]]
    run(command, place, environment(place), START_SECONDS).expect_success()


def lists_as_simulated(world, name, agent, count):
    """The text that `rep list --client` expects of each skill is in the first request, byte for byte and in this order."""
    place = world.place(name)
    with ModelServer(list(agent.script)) as model:
        command, variables = agent.prepare(place, model.url)
        write_skills(place / "home" / agent.files, count)
        run(command, place, environment(place, **variables), agent.seconds).expect_success()
        request = max(model.requests, key=lambda request: len(json.dumps(request.body)))
    outcome = run([world.rep, "list", "--client", name, "--json"], place, environment(place), START_SECONDS)
    outcome.expect_success()
    listing = json.loads(outcome.output)
    texts = list(strings([request.frame, request.messages, request.tools]))
    text = max(texts, key=lambda text: text.count("kind-"))
    at = 0
    for skill in listing["skills"]:
        found = text.find(skill["text"], at)
        if found < 0:
            raise Failed(f"{skill['name']} is {skill['shown']}, but this is not in the request: {skill['text']!r}")
        at = found + len(skill["text"])
        if skill["shown"] == "gone" and skill["name"] in text:
            raise Failed(f"{skill['name']} is in the request, but should be gone")
    shown = {key: listing[key] for key in ("whole", "cut", "name_only", "gone")}
    return f"{shown} of {count} skills, as simulated by the rule of {listing['version']}"


def write_skills(directory, count):
    """Writes skills with descriptions of one word to many lines, some of them longer than clients permit."""
    words = "Reads, sorts and “answers” papers of <this> kind & others. Use when somebody asks - or says - so. 处理文件。".split()
    for number in range(count):
        length = 1 + number * 37 % 90 if number % 13 else 260
        description = " ".join(words[word % len(words)] for word in range(number, number + length))
        skill = directory / f"kind-{number:03}"
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text(f"---\nname: {skill.name}\ndescription: {json.dumps(description)}\n---\n# Kind\n")


def names_the_skill(world, name, agent):
    """A hook names the fitting skill before the turn, and `rep undo` takes it out."""
    place = world.place(name)
    with ModelServer(list(agent.script)) as model:
        command, variables = agent.prepare(place, model.url)
        shutil.copytree(LIBRARY, place / "home" / agent.files, dirs_exist_ok=True)
        rep = [world.rep, "connect", name, "--hooks", "--yes", "--command", world.rep]
        run(rep, place, environment(place), START_SECONDS).expect_success()
        # A busy machine may take longer than a hook may: then it is silent.
        for path in hooks_in(place, name):
            path.write_text(path.read_text().replace(f" hook {name}", f" hook {name} --limit 60000"))
        command = [*command[:-1], *agent.hooks, command[-1]]
        run(command, place, environment(place, **variables), agent.seconds).expect_success()
        texts = list(strings([[request.messages, request.frame] for request in model.requests]))
        if not any("The skill `csv-report` fits this request" in text for text in texts):
            raise Failed("no request names the skill that fits")
    run([world.rep, "undo", "--yes"], place, environment(place), START_SECONDS).expect_success()
    if left := hooks_in(place, name):
        raise Failed(f"rep undo left {left}")
    return "the fitting skill is named in the first request; `rep undo` takes the hook out"


def hooks_in(place, name):
    """Returns the files of the client that register a hook."""
    files = [path for path in (place / "home").rglob("*.json") if ".local" not in path.parts and path.is_file()]
    return [path for path in files if f" hook {name}" in path.read_text(errors="replace")]


def conversation(world, name, agent):
    """Returns the requests of a conversation with the agent."""
    place = world.place(name)
    with ModelServer(list(agent.script)) as model:
        command, variables = agent.prepare(place, model.url)
        if agent.connects:
            world.connect(place, name)
        else:
            command = [*command, *world.stdio()]
        (place / "CHANGES.md").write_text("# Changes\n")
        outcome = run(command, place, environment(place, **variables), agent.seconds)
        end_orphans(world.rep)
        turns = model.turns()
        if len(turns) < len(agent.script) + 1:
            text = (outcome.output + outcome.errors)[-600:]
            raise Failed(f"{len(turns)} requests with load_skill, of {len(model.requests)}; it said: {text}")
        outcome.expect_success()
    return turns


def catalog_is_there(request, where):
    text = json.dumps([request.frame, request.messages] if where == "prompt" else request.tools)
    if not all(name in text for name in SKILLS) or DESCRIPTION not in text:
        raise Failed(f"the catalog is not in the {where} of the first request")


def catalog_comes_once(request):
    count = sum(text.count(DESCRIPTION) for text in strings([request.frame, request.messages, request.tools]))
    if count != 1:
        raise Failed(f"the first request has the catalog {count} times")


def offers_the_tool(request):
    entry = tool_entry(request, "load_skill")
    schema = entry.get("parameters") or entry.get("input_schema")
    if schema["properties"]["name"].get("enum") != SKILLS:
        raise Failed(f"the schema of load_skill is {json.dumps(schema)}")


def results_are_markdown(request):
    texts = list(strings([message for message in request.messages if "call_scripted_" in json.dumps(message)]))
    # The AI SDK, and pydantic-ai if there is a note, show the model the content of a result as JSON.
    texts += [text for parts in texts if parts.startswith(("[{", '["')) for text in strings(json.loads(parts))]
    for wanted in (BODY, REFERENCE):
        if not any(wanted in text for text in texts):
            raise Failed(f"no result has {wanted!r} as it is")


def skills_for_files_are_named(request):
    note = f"<skills_for_files>\n- {FOR_FILES}: "
    if not any(note in text or json.dumps(note)[1:-1] in text for text in strings(request.messages)):
        raise Failed("no result has the note about skills for the files of the project")


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def prefix_is_stable(before, after):
    for what, old, new in (
        ("tools", before.tools, after.tools),
        ("what stands before the messages", before.frame, after.frame),
        ("the messages so far", before.messages, after.messages[: len(before.messages)]),
    ):
        if serialized(old) != serialized(new):
            raise Failed(f"{what} changed from one request to the next")


def serialized(value):
    return json.dumps(without_cache_marks(value))


def without_cache_marks(value):
    """Claude Code moves its marks for the cache along, and a text that loses one becomes a plain string."""
    if isinstance(value, list):
        value = [without_cache_marks(item) for item in value]
        is_one_text = len(value) == 1 and isinstance(value[0], dict) and value[0].keys() == {"type", "text"}
        return value[0]["text"] if is_one_text else value
    if isinstance(value, dict):
        return {key: without_cache_marks(item) for key, item in value.items() if key != "cache_control"}
    return value


def goose(place, url):
    program = install.package("goose", "node_modules", "@aaif", "goose-binary-linux-x64", "bin", "goose")
    return [program, "run", "--no-session", "-t", TASK], {
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": MODEL,
        "GOOSE_MODE": "auto",
        "GOOSE_DISABLE_KEYRING": "1",
        "OPENAI_HOST": url,
        "OPENAI_BASE_PATH": "v1/chat/completions",
        "OPENAI_API_KEY": "none",
    }


def opencode(place, url):
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "local", "options": options, "models": {MODEL: {"name": MODEL}}}
    configuration = {"provider": {"local": provider}, "model": f"local/{MODEL}"}
    directory = place / "home" / ".config" / "opencode"
    directory.mkdir(parents=True)
    (directory / "opencode.json").write_text(json.dumps(configuration))
    program = install.package("opencode", "node_modules", "opencode-linux-x64", "bin", "opencode")
    switched_off = ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    variables = {f"OPENCODE_DISABLE_{name}": "1" for name in switched_off}
    return [program, "run", "--pure", "--auto", "--format", "json", TASK], variables


def codex(place, url):
    directory = place / "home" / ".codex"
    directory.mkdir()
    (directory / "config.toml").write_text(
        f'model = "{MODEL}"\nmodel_provider = "local"\n'
        f'[model_providers.local]\nname = "local"\nbase_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "LOCAL_KEY"\n'
    )
    binary = next(install.package("codex", "node_modules", "codex", "vendor").glob("*/bin/codex"))
    flags = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return [binary, "exec", *flags, TASK], {"LOCAL_KEY": "none"}


def claude_code(_place, url):
    binary = install.package("claude-code", "node_modules", "@anthropic-ai", "claude-code-linux-x64", "claude")
    flags = ["--allowedTools", "mcp__repertoire__load_skill"]
    variables = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    return [binary, "-p", TASK, *flags, "--output-format", "stream-json", "--verbose"], variables


def copilot(_place, url):
    binary = install.package("copilot", "node_modules", "@github", "copilot-linux-x64", "copilot")
    variables = {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": MODEL}
    flags = ["--allow-all-tools", "--no-auto-update", "--disable-builtin-mcps"]
    return [binary, "-p", TASK, *flags], variables


def python_host(name, *arguments):
    """Returns how to run a program of ours with a framework for Python."""
    command = [install.package(name, "bin", "python"), install.CLIENTS / "peers" / f"{name.replace('-', '_')}_host.py"]
    return lambda _place, url: ([*command, *arguments, f"{url}/v1", TASK], {"PYTHONDONTWRITEBYTECODE": "1"})


def ai_sdk(_place, url):
    host = install.CLIENTS / "peers" / "ai_sdk_host.mjs"
    return [install.node(), host, install.package("ai-sdk"), f"{url}/v1", TASK], {}


AGENTS = {
    "goose": Agent(goose, files=".agents/skills", switches=False, listings=(60,)),
    "opencode": Agent(opencode, files=".agents/skills", listings=(60,)),
    # Codex describes the namespace of a server's tools by the server's instructions.
    "codex": Agent(
        codex,
        catalog="tools",
        files=".agents/skills",
        listings=(10, 60, 150, 500),
        hooks=("--dangerously-bypass-hook-trust",),
    ),
    "claude-code": Agent(
        claude_code, script=(LOAD, LOAD_REFERENCE), files=".claude/skills", listings=(10, 60, 150), hooks=()
    ),
    # The others show no instructions, so they have the catalog in the description of `load_skill`.
    "copilot": Agent(
        copilot, catalog="tools", files=".agents/skills", switches=False, listings=(10, 60, 150), hooks=()
    ),
    "openai-agents": Agent(python_host("openai-agents"), catalog="tools", connects=False),
    "langchain": Agent(python_host("langchain"), catalog="tools", connects=False),
    "pydantic-ai": Agent(python_host("pydantic-ai", "without"), catalog="tools", connects=False),
    # It shows instructions where the program asks for it, and gets the catalog once all the same.
    "pydantic-ai with instructions": Agent(python_host("pydantic-ai", "with"), catalog="tools", connects=False),
    "ai-sdk": Agent(ai_sdk, catalog="tools", connects=False),
}
