//! Tests of `rep init`.

use crate::sandbox::{Sandbox, assert_run};

#[test]
fn a_commented_file_is_written_once() {
    let sandbox = Sandbox::with_skills();
    assert_run!(sandbox.run(&["init"]), @r#"
    exit 0
    --- stdout
    wrote [DIR]/project/repertoire.toml
    --- stderr
    "#);
    insta::assert_snapshot!(sandbox.read("repertoire.toml"), @r#"
    # Configuration of Repertoire for this project. Every key that a project may set is here with its
    # default; take the mark away to change it. Paths are relative to this file. `rep doctor` tells what is in force.

    # The set of choices that all others start from. Takes: standard, strict, lenient, harness, bernstein,
    # yodoca, helix. Flag: --profile.
    # profile = "standard"

    # Directories of skills beside those that are discovered; earlier ones win, and the project's come
    # before the user's. Takes: a list of directories. Flag: --root (replaces them).
    # roots = []

    # Skills that are switched off for all agents, as `rep disable` writes them; the lists of the user and
    # of the project add up. Takes: a list of patterns over names or source:name, where * stands for any
    # text and ? for one character.
    # disabled = []

    # What happens to skills of several sources that share a name; of twins within one source all but one
    # are quarantined, whatever is chosen here. Takes: quarantine, abort, last_wins, first_wins.
    # duplicates = "quarantine"

    # What happens to a skill that cannot be understood. Takes: quarantine, abort.
    # on_invalid = "quarantine"

    # What happens when a skill's name differs from its directory. Takes: warn, quarantine, abort,
    # dir_wins.
    # name_mismatch = "warn"

    # What unloading means for the transcript: the instructions stay until the next compaction, or the
    # host takes them out at once. Takes: mark, evict.
    # unload = "mark"

    # How models are told of the tools that skills bring along: through one tool that calls all of them,
    # so that the list of tools never changes; behind the others; or among them, for as long as the skill
    # is loaded. Takes: stable, append, dynamic.
    # tool_exposure = "stable"

    [name]
    # The grammar that names are held against. Takes: agentskills, bernstein, relaxed.
    # grammar = "agentskills"

    # Words that a name should not hold. Takes: a list of strings.
    # reserved = ["anthropic", "claude"]

    # How loudly a reserved word in a name is reported. Takes: warn, error, ignore.
    # reserved_action = "warn"

    [description]
    # The shortest description that is not reported, in characters. Takes: a whole number, at least 0.
    # min = 20

    # The longest description that is not reported, in characters. Takes: a whole number, at least 1.
    # max = 1024

    [frontmatter]
    # How loudly an unknown key in a frontmatter is reported. Takes: warn, error, ignore.
    # unknown = "warn"

    # Whether a missing frontmatter is reported. Takes: true, false.
    # required = true

    [resources]
    # Which files a skill is said to have: those found, those declared, or both. Takes: walk, declared,
    # both.
    # listing = "walk"

    # The most files that are listed when a skill is loaded. Takes: a whole number, at least 0.
    # max_listed = 200

    [catalog]
    # The shape of the catalog. Takes: xml, list, menu, bracket, markdown, json, compat. Flag: catalog
    # --format.
    # format = "xml"

    # The most tokens the catalog may have; 0 for any number. Takes: a whole number, at least 0. Flag:
    # catalog --budget.
    # budget_tokens = 0

    # What happens to a catalog over its budget. Takes: tiers, search_only, verbatim.
    # over_budget = "tiers"

    # Which descriptions a catalog over its budget keeps first: short ones, or those of the skills that
    # were loaded most in the last 90 days, as the store has counted when the command starts. Takes:
    # short, used.
    # prefer = "short"

    # Whether the catalog shows the call that loads a skill and says what to do if none matches; the
    # format `compat` never does. Takes: true, false.
    # usage = true

    # Whether the `menu` catalog may mark loaded skills; it defeats prompt caching. Takes: true, false.
    # show_loaded = false

    # When the catalog of a session follows the library: at a compaction, only when asked, or at once,
    # which defeats prompt caching. Takes: on_compaction, session, immediate.
    # refresh = "on_compaction"

    [load]
    # Whether a skill's frontmatter is shown with its instructions. Takes: true, false. Flag: show --raw.
    # include_frontmatter = false

    # Whether models are told where a skill lies, so that they can run its scripts with their own shell.
    # Takes: true, false.
    # location = false

    # The number of tokens from which instructions come with a warning and an outline; nothing is ever
    # cut. Takes: a whole number, at least 1.
    # soft_limit_tokens = 8000

    [load_skill]
    # Whether `load_skill` takes `reference`, `script` and `asset`. Takes: true, false.
    # bucket_args = true

    [read]
    # The most bytes of a file that one call of `read_skill_file` returns. Takes: a whole number, 256 to
    # 16777216.
    # max_bytes = 65536

    [requires]
    # Whether the skills that a loaded one requires are named to the model or loaded with it. Takes: hint,
    # auto_load.
    # mode = "hint"

    # The most tokens of skills that are loaded because another one requires them. Takes: a whole number,
    # at least 0.
    # max_tokens = 8000

    [tools]
    # Which of the built-in tools models are offered: all, `load_skill` alone with the name of a skill as
    # its only argument, or `load_skill` and a list of others by their usual names. It never offers what
    # is switched off otherwise. The list of a profile is only a default: what is switched on is offered
    # beside it. Takes: all, minimal, or a list of call_skill_tool, list_skill_files, list_skills,
    # load_skill, propose_skill, propose_skill_update, read_skill_file, review_skill_proposals,
    # run_skill_script, search_skills, unload_skill.
    # offer = "all"

    # Optional arguments that the schemas of tools do not show, by their usual names; a model that gives
    # one is understood nevertheless. Takes: a list of asset, directory, end_line, force, limit, query,
    # reference, script, start_line, tag.
    # hide_args = []

    # Whether other usual names of arguments are understood too: `skill_name`, `skill_id`, `file_path` and
    # the like. Takes: true, false.
    # arg_aliases = true

    # Whether there is a tool to unload skills. Takes: true, false.
    # unload = true

    # What a call of a skill's name as if it were a tool does: load the skill, or explain with an error
    # that shows the call to make. Takes: load, explain.
    # skill_as_tool = "load"

    # Whether `allowed-tools` of active skills limits what may be called; what all of them name is left,
    # and nothing is ever added. Takes: off, active.
    # ceiling = "off"

    # The most names of skills that a tool's schema lists; with more, or 0, it lists none. Takes: a whole
    # number, at least 0.
    # enum_limit = 100

    [errors]
    # How unknown skills are answered: with the nearest names, or with a pointer at the menu. Takes:
    # names, menu.
    # style = "names"

    [tokens]
    # What tokens are counted with. Takes: o200k_base, chars4.
    # estimator = "o200k_base"

    [scan]
    # How many levels below a root skills are looked for; directories of skills are not searched.
    # Directories that are named with `--root` are searched 5 levels deep by default, and hidden
    # directories in them as well. Takes: a whole number, 1 to 10.
    # max_depth = 3

    # The most directories of a root that are looked at. Takes: a whole number, at least 1.
    # max_directories = 100000

    # The most directory entries of a root that are read. Takes: a whole number, at least 1.
    # max_entries = 1000000

    # Whether skills inside other skills are looked for. Takes: true, false.
    # nested = false

    # Where symbolic links to skills and to groups of skills may lead: anywhere, or only into the roots
    # that are looked at. Takes: anywhere, roots.
    # links = "anywhere"

    [discovery]
    # Whether `.agents/skills`, `.claude/skills` and the like are looked for from the working directory up
    # to the repository root. Takes: true, false.
    # project = true

    # Whether the same directories are looked for under the home directory. Takes: true, false.
    # user = true

    # Whether the skills of plugins are read that Claude Code and Codex have installed and enabled. Takes:
    # true, false.
    # plugins = true

    # Whether the skills of all plugins in Cursor's directories are read; Cursor does not record in a file
    # which of them are enabled. Takes: true, false.
    # plugin_caches = false

    # Whether skills in packages that are installed in the project are read: in `skills` or
    # `.agents/skills` of packages in `node_modules`, `.venv` and `venv`. Takes: true, false.
    # packages = false

    [packs]
    # Directories whose every sub-directory is a pack of skills. Takes: a list of directories.
    # directories = []

    [reload]
    # How sessions and servers follow the library: by events of the file system, by polling, on use, or
    # not at all; see https://github.com/repertoire-rs/repertoire/blob/main/docs/guides/hot-reload.md.
    # Takes: watch, poll, lazy, off.
    # mode = "watch"

    # The least milliseconds between two polls; more where polling would take over 0.17 % of a core.
    # Takes: a whole number, 100 to 3600000.
    # poll_ms = 5000

    # The least milliseconds between two looks at a library that is followed on use. Takes: a whole
    # number, 0 to 3600000.
    # cooldown_ms = 2000

    # How many milliseconds it must be quiet before what happened is acted upon, so that a checkout is one
    # change. Takes: a whole number, 0 to 2000.
    # debounce_ms = 30

    # The most directories that are watched, at most half of what the system allows a user; sources beyond
    # that are polled. Takes: a whole number, 0 to 524288.
    # max_watches = 32768

    [binding]
    # What a role's prompt holds of the skill that is the role: its instructions, or a line that tells to
    # load it. Takes: inline, hint.
    # role_default = "inline"

    [roles]
    # Directories with a `system_prompt.md` for each role that is no skill; the last two, below the
    # project's root, are always looked at. Takes: a list of directories.
    # directories = ["templates/roles", "roles"]

    [subagent]
    # What agents have from those that start them: nothing, the limits of their catalog, or these and the
    # loaded skills. Takes: none, catalog, active.
    # inherit = "none"

    [mcp]
    # Whether MCP clients are offered tools to load skills and to read their files. Takes: true, false.
    # Flag: serve --no-tools.
    # tools = true

    # Whether MCP clients are offered the Skills extension, and files of skills as resources. Takes: true,
    # false. Flag: serve --no-extension.
    # sep2640 = true

    # The most tokens of the catalog in the instructions of the MCP server; where not even the names fit,
    # some skills are shown and the others are to be searched for; 0 for no instructions. Takes: a whole
    # number, at least 0.
    # instructions_budget = 2000

    [agents]
    # An agent; the user's definition replaces the project's of the same name as a whole. Here is one that
    # is called reviewer.

    # Skills whose instructions are always in the agent's prompt, in this order. Takes: a list of skills,
    # each a name or source:name.
    # reviewer.uses_skills = ["code-review"]

    # The skills that the agent may see; without it, all, and with an empty list, none. Takes: a list of
    # patterns over names or source:name, where * stands for any text and ? for one character.
    # reviewer.skills.allow = ["code-*", "user:*:git"]

    # The skills that the agent may not see, whatever is allowed. Takes: a list of patterns over names or
    # source:name, where * stands for any text and ? for one character.
    # reviewer.skills.deny = ["*-internal"]

    # Kits whose skills the agent may see, beside those of `skills.allow`; an agent of the user has only
    # kits of the user. Takes: a list of names of kits.
    # reviewer.skills.kits = ["web"]

    # The channel of the store that the agent follows, where several are served; by default, the last one.
    # Takes: the name of a channel.
    # reviewer.channel = "next"

    # What comes after the instructions of the skills and so has the last word. Takes: a string.
    # reviewer.instructions = "Be brief."

    # The template of the agent's own prompt, which comes first. Takes: a file, relative to this one.
    # reviewer.prompt = "prompts/reviewer.md"

    # What the template may refer to. Takes: a table of strings.
    # reviewer.variables = { team = "payments" }

    # How single skills are bound to the agent. Takes: a table of skills, each inline, hint, catalog or
    # hidden.
    # reviewer.bind = { git = "hint" }

    # What agents that this one starts have from it; by default, what `subagent.inherit` says. Takes:
    # none, catalog, active.
    # reviewer.inherit = "none"

    # The built-in tools that the agent is offered, of those that `tools.offer` offers; in place of those
    # of the profile if that is not set. Takes: as the key tools.offer.
    # reviewer.tools.offer = "minimal"

    # Optional arguments that its tools do not show, beside those of `tools.hide_args`. Takes: as the key
    # tools.hide_args.
    # reviewer.tools.hide_args = ["force"]

    [kits]
    # A kit: a choice of skills, such as those for one kind of work. `rep kit use NAME` switches all other
    # skills off; the user's definition replaces the project's of the same name. Takes: a table with
    # skills, a list of patterns over names or source:name.
    # web.skills = ["frontend-*", "accessibility"]

    [rules]
    # The severity of one rule; every rule is listed in
    # https://github.com/repertoire-rs/repertoire/blob/main/docs/reference/rules.md. Takes: off, info,
    # warning, error.
    # description-when = "info"
    "#);
    assert_eq!(sandbox.run(&["list"]).code, 0);
    assert_run!(sandbox.run(&["init"]), @r#"
    exit 1
    --- stdout
    --- stderr
    error: [DIR]/project/repertoire.toml is already there
    hint: `--force` overwrites it
    "#);
    sandbox.write("repertoire.toml", "broken");
    assert_eq!(sandbox.run(&["init", "--force"]).code, 0);
    assert_eq!(sandbox.run(&["list"]).code, 0);
}
