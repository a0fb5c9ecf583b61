//! Tests of the output on a pseudo terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::model_server::Server;
use crate::sandbox::{Sandbox, sandboxes};
use crate::test_agent_command::{csv_script, with_csv_report};

/// The ends of questions.
const QUESTIONS: [&[u8]; 2] = [b"[y/N]", b"or nothing)"];

/// Returns the output of `rep` on a terminal.
fn on_terminal(sandbox: &Sandbox, arguments: &[&str]) -> String {
    answering(sandbox, arguments, None)
}

/// Returns the output of `rep` on a terminal on which a person types `answer`.
fn answering(sandbox: &Sandbox, arguments: &[&str], answer: Option<&str>) -> String {
    answering_after(sandbox, arguments, answer, || {})
}

/// Returns the output of `rep` on a terminal of `columns` columns, without colours.
fn on_narrow_terminal(sandbox: &Sandbox, arguments: &[&str], columns: u16) -> String {
    let shown = on_terminal_of(columns, sandbox, arguments, None, || {});
    let mut pieces = shown.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once('m').map_or("", |(_, rest)| rest))
}

/// Returns the output of `rep` on a terminal on which a person types `answer`; calls `meanwhile` while the
/// question is open.
pub(crate) fn answering_after(
    sandbox: &Sandbox,
    arguments: &[&str],
    answer: Option<&str>,
    meanwhile: impl FnOnce(),
) -> String {
    on_terminal_of(80, sandbox, arguments, answer, meanwhile)
}

fn on_terminal_of(
    columns: u16,
    sandbox: &Sandbox,
    arguments: &[&str],
    answer: Option<&str>,
    meanwhile: impl FnOnce(),
) -> String {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&controller, size).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let terminal = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut command = sandbox.command(arguments);
    if answer.is_some() {
        command.stdin(Stdio::from(terminal.try_clone().unwrap()));
    }
    command.stdout(Stdio::from(terminal.try_clone().unwrap())).stderr(Stdio::from(terminal));
    let mut child = command.spawn().unwrap();
    // The end of the output is seen only once the terminal is closed, which reads as an error and not as
    // nothing.
    drop(command);
    let mut controller = File::from(controller);
    let (mut shown, mut buffer) = (Vec::new(), [0; 4096]);
    let mut waiting = answer.map(|answer| (answer, meanwhile));
    while let Ok(length @ 1..) = controller.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..length]);
        let is_asked = |question: &[u8]| shown.windows(question.len()).any(|window| window == question);
        if QUESTIONS.into_iter().any(is_asked)
            && let Some((answer, meanwhile)) = waiting.take()
        {
            meanwhile();
            controller.write_all(answer.as_bytes()).unwrap();
        }
    }
    child.wait().unwrap();
    String::from_utf8(shown).unwrap()
}

#[test]
fn control_characters_are_shown_and_not_obeyed() {
    let mut sandbox = Sandbox::new();
    sandbox.set("REPERTOIRE_COLOR", "never");
    sandbox.write(
        ".agents/skills/evil/SKILL.md",
        "---\nname: evil\ndescription: \"Looks \\e[31mred\\u202e. Use when asked.\"\n---\nbody \u{1b}]0;title\u{7}\u{202e}\n",
    );
    let path = ".agents/skills/evil";
    for arguments in [
        &["show", "evil"][..],
        &["show", "evil", "--raw"],
        &["list"],
        &["catalog", "--format", "list"],
        &["explain", "evil"],
        &["check"],
        &["show", "\u{1b}[31mnone"],
        &["check", "--compat", "skills-ref", "to-prompt", path],
        &["check", "--compat", "skills-ref", "validate", "\u{1b}[31mnone"],
    ] {
        // On a busy machine there is a progress line, which is erased.
        let shown = on_terminal(&sandbox, arguments).replace("\r\u{1b}[K", "");
        assert!(!shown.is_empty(), "{arguments:?}");
        let is_harmful = |c: char| (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || c == '\u{202e}';
        assert!(!shown.contains(is_harmful), "{arguments:?} {shown:?}");
    }
    assert!(on_terminal(&sandbox, &["show", "evil"]).contains("\\u{1b}]0;title\\u{7}\\u{202e}"));
    // A program gets the bytes as they are.
    let piped = sandbox.run(&["check", "--compat", "skills-ref", "to-prompt", path]);
    assert!(piped.stdout.contains("\u{1b}[31mred\u{202e}"), "{:?}", piped.stdout);
}

#[test]
fn connect_asks_for_consent_on_a_terminal() {
    let mut sandbox = Sandbox::with_skills();
    sandbox.set("REPERTOIRE_COLOR", "never");
    let file = sandbox.home().join(".cursor/mcp.json");
    let shown = answering(&sandbox, &["connect", "cursor"], Some("n\n"));
    assert!(shown.contains("write this to 1 file? [y/N]"), "{shown}");
    assert!(
        shown.contains("nothing was changed; 1 file would be changed") && !shown.contains("--yes"),
        "{shown}"
    );
    assert!(!file.try_exists().unwrap());
    let shown = answering(&sandbox, &["connect", "cursor"], Some("y\n"));
    assert!(shown.contains("connected Cursor"), "{shown}");
    assert!(file.is_file());
    let shown = answering(&sandbox, &["link", "claude-code"], Some("yes\n"));
    assert!(shown.contains("make these 2? [y/N]") && shown.contains("2 linked"), "{shown}");
}

#[test]
fn an_agent_asks_before_a_skill_that_is_not_approved_runs_a_tool() {
    let names = sandboxes();
    let approved = names.iter().map(|name| (name, "y\n", true));
    for (name, answer, is_approved) in approved.chain([(&names[0], "n\n", false)]) {
        let mut sandbox = Sandbox::new();
        sandbox.set("REPERTOIRE_COLOR", "never");
        sandbox.set("PATH", "/usr/bin:/bin");
        sandbox.set("REPERTOIRE_EXEC_SANDBOX", name);
        with_csv_report(&sandbox);
        let server = Server::start(csv_script());
        let arguments = ["agent", "--model", "m", "--base-url", &server.url, "Which month sold most?"];
        let shown = answering(&sandbox, &arguments, Some(answer));
        assert!(shown.contains("csv-report") && shown.contains("is not approved"), "{shown}");
        assert!(shown.contains("csv_query") && shown.contains("Approve it? [y/N]"), "{shown}");
        assert!(shown.contains("February sold most."), "{shown}");
        let received = server.received();
        assert_eq!(received[2].body.contains("feb,1,30"), is_approved, "{name}: {}", received[2].body);
        assert_eq!(sandbox.run(&["approve", "--list"]).stdout.contains("csv-report"), is_approved);
    }
}

#[test]
fn undo_leaves_skills_that_change_during_the_question() {
    let mut sandbox = Sandbox::with_skills();
    sandbox.set("REPERTOIRE_COLOR", "never");
    assert_eq!(sandbox.run(&["link", "--yes", "--copy", "claude-code"]).code, 0);
    let shown = answering_after(&sandbox, &["undo"], Some("y\n"), || {
        sandbox.write(".claude/skills/alpha/references/guide.md", "mine\n");
        std::fs::remove_dir_all(sandbox.project().join(".claude/skills/beta")).unwrap();
    });
    assert!(shown.contains("take it back? [y/N]"), "{shown}");
    assert!(shown.contains("files were changed meanwhile"), "{shown}");
    assert_eq!(sandbox.read(".claude/skills/alpha/references/guide.md"), "mine\n");
    assert!(sandbox.project().join(".claude/skills/alpha/SKILL.md").is_file());
}

/// A library whose names, descriptions and sources are long.
fn wide() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("REPERTOIRE_COLOR", "never");
    let places = [".agents/skills", ".claude/skills", "../home/.codeium/windsurf/skills"];
    for index in 0..12 {
        let name = format!("review-{}requests-of-the-team-{index}", "many-".repeat(index % 5));
        let description = format!(
            "Reviews pull requests {index}. {}Use when asked.",
            "It is thorough and kind. ".repeat(12)
        );
        let text = format!(
            "---\nname: {name}\ndescription: {description}\nversion_: {}\n---\n# Review pull requests\n\nReview.\n",
            "x".repeat(300)
        );
        for place in &places[..1 + index % 3] {
            sandbox.write(&format!("{place}/{name}/SKILL.md"), &text);
            sandbox.write(&format!("{place}/{name}/references/{}.md", "long-".repeat(20)), "x\n");
        }
    }
    let words = "Many words that say nothing. ".repeat(12);
    sandbox.write(
        ".agents/skills/short/SKILL.md",
        format!(
            "---\nname: short\ndescription: {words}\nversoin: {}\n---\n{words}[x](gone.md)\n",
            "x".repeat(300)
        ),
    );
    sandbox
}

#[test]
fn output_fits_a_terminal_of_80_columns() {
    let sandbox = wide();
    let name = "review-many-many-many-many-requests-of-the-team-4";
    for arguments in [
        &["list"][..],
        &["list", "--tokens"],
        &["list", "--digest"],
        &["list", "--all"],
        &["list", "--all", "--tokens", "--digest"],
        &["show", name, "--files"],
        &["search", "review pull requests"],
        &["check", "short"],
        &["explain", "short"],
        &["cost"],
        &["help"],
    ] {
        let shown = on_terminal(&sandbox, arguments);
        assert!(shown.lines().count() > 2, "{arguments:?} {shown}");
        // Hints are wrapped by the terminal.
        for line in shown.lines().filter(|line| !line.starts_with("hint:")) {
            // A slow run shows its progress, and erases it.
            let line = line.rsplit("\u{1b}[K").next().unwrap_or_default();
            assert!(line.trim_end().chars().count() <= 80, "{arguments:?} {line:?}");
        }
    }
}

#[test]
fn names_lose_no_mark_and_clients_stay_readable_at_80_columns() {
    let sandbox = wide();
    sandbox.write("../home/.cursor/argv.json", "{}");
    sandbox.write("../home/.gemini/settings.json", "{}");
    sandbox.write("../home/.claude/settings.json", "{}");
    sandbox.write("../home/.cursor/skills/cut/SKILL.md", crate::sandbox::skill("cut", "x\n"));
    sandbox.write("../home/.gemini/skills/both/SKILL.md", crate::sandbox::skill("both", "x\n"));
    let shown = on_narrow_terminal(&sandbox, &["list"], 80).replace('\r', "");
    insta::assert_snapshot!(shown, @r"
    NAME                                      CLIENTS    SOURCE          DESCRIPTION
    both                                      gemini     gemini          Does both…
    cut                                       cursor     cursor          Does cut t…
    review-many-many-many-many-requests-…  !  cursor +2  project:agents  Reviews pu…
    review-many-many-many-many-requests-…  !  cursor +2  project:agents  Reviews pu…
    review-many-many-many-requests-of-th…  !  cursor +2  project:agents  Reviews pu…
    review-many-many-many-requests-of-th…  !  cursor +2  project:agents  Reviews pu…
    review-many-many-requests-of-the-tea…  !  cursor +2  project:agents  Reviews pu…
    review-many-many-requests-of-the-tea…  !  cursor +2  project:agents  Reviews pu…
    review-many-requests-of-the-team-1     !  cursor +2  project:agents  Reviews pu…
    review-many-requests-of-the-team-11    !  cursor +2  project:agents  Reviews pu…
    review-many-requests-of-the-team-6     !  cursor +2  project:agents  Reviews pu…
    review-requests-of-the-team-0          !  cursor +2  project:agents  Reviews pu…
    review-requests-of-the-team-10         !  cursor +2  project:agents  Reviews pu…
    review-requests-of-the-team-5          !  cursor +2  project:agents  Reviews pu…
    short                                  !  cursor +2  project:agents  Many words…
    15 active, 12 shadowed, 25 with warnings
    hint: run `rep check` to see what is wrong; it reads instructions and files too
    hint: run `rep list --all` to see all
    ");
}

#[test]
fn paths_of_the_user_begin_with_a_tilde() {
    let mut sandbox = Sandbox::new();
    sandbox.set("REPERTOIRE_COLOR", "never");
    sandbox.write("../home/.claude/settings.json", "{}");
    sandbox.write("../home/.claude/skills/alpha/SKILL.md", "---\nname: alpha\ndescription: Short.\n---\nx\n");
    sandbox.write("../home/.codex/skills/alpha/SKILL.md", "---\nname: alpha\ndescription: Short.\n---\nx\n");
    let home = sandbox.home().display().to_string();
    for (arguments, path) in [
        (&["search", "alpha"][..], "path     ~/.claude/skills/alpha"),
        (&["check"], "--> ~/.claude/skills/alpha/SKILL.md:3:14"),
        (&["check"], "is taken by"),
        (&["disable", "alpha"], "disabled alpha in ~/.config/repertoire/config.toml"),
        (&["enable", "alpha"], "enabled alpha in ~/.config/repertoire/config.toml"),
        (&["remove", "alpha", "--user"], "~/.claude/skills/alpha"),
        (&["connect", "claude-code", "--yes"], "connected Claude Code (~/.claude.json)"),
    ] {
        let shown = on_terminal(&sandbox, arguments);
        assert!(shown.contains(path) && !shown.contains(&home), "{arguments:?} {shown}");
        assert!(!sandbox.run(arguments).stdout.contains('~'), "{arguments:?}");
    }
}

#[test]
fn prose_of_doctor_and_stats_is_wrapped_between_words() {
    let sandbox = wide();
    sandbox.run(&["call", "load_skill", r#"{"name": "short"}"#]);
    for (arguments, indent) in [(&["doctor", "--verbose"][..], "ok    skills    ".len()), (&["stats"], 0)] {
        let shown = on_narrow_terminal(&sandbox, arguments, 50);
        let prose = |line: &&str| line.chars().count() > 50 && !line.contains('`');
        for line in shown.lines().map(str::trim_end).filter(prose) {
            let text: String = line.chars().skip(indent).collect();
            assert!(!text.contains(' '), "{arguments:?} {line:?} {shown}");
        }
    }
}

#[test]
fn the_command_that_switches_unused_skills_off_names_a_few() {
    let sandbox = wide();
    sandbox.run(&["call", "load_skill", r#"{"name": "short"}"#]);
    let run = sandbox.run(&["stats", "--dead-after", "0d"]);
    let hint = run.stderr.lines().find(|line| line.starts_with("hint: to switch")).unwrap();
    assert!(hint.starts_with("hint: to switch the first 3 off, run `rep disable review-"), "{hint}");
    assert_eq!(hint.matches("-team-").count(), 3, "{hint}");
}

#[test]
fn tables_fit_a_terminal_of_40_columns_in_colour() {
    let mut sandbox = wide();
    sandbox.run(&["call", "load_skill", r#"{"name": "short"}"#]);
    sandbox.set("REPERTOIRE_COLOR", "always");
    for arguments in [&["list", "--all", "--tokens", "--digest"][..], &["stats"], &["events"]] {
        let shown = on_narrow_terminal(&sandbox, arguments, 40);
        let is_row =
            |line: &&str| ["NAME", "SKILL", "review-", "short", "20"].iter().any(|s| line.starts_with(s));
        let rows: Vec<&str> = shown.lines().filter(is_row).collect();
        assert!(!rows.is_empty(), "{arguments:?} {shown:?}");
        for row in rows {
            assert!(row.trim_end().chars().count() <= 40, "{arguments:?} {row:?}");
        }
    }
}

#[test]
fn the_results_of_a_search_fit_one_screen() {
    let shown = on_terminal(&wide(), &["search", "review pull requests"]);
    assert!((10..24).contains(&shown.lines().count()), "{shown}");
}

#[test]
fn the_trend_of_loads_is_drawn_on_terminals_only() {
    let sandbox = Sandbox::with_skills();
    sandbox.run(&["call", "load_skill", r#"{"name": "alpha"}"#]);
    let shown = on_terminal(&sandbox, &["stats"]);
    assert!(shown.contains("TREND") && shown.contains('█'), "{shown}");
    let piped = sandbox.run(&["stats"]).stdout;
    assert!(!piped.contains("TREND") && !piped.contains('█'), "{piped}");
}

#[test]
fn skills_to_add_are_chosen_on_a_terminal() {
    let repository = crate::git_repository::Repository::with_skills();
    let mut sandbox = crate::git_repository::empty_project();
    sandbox.set("REPERTOIRE_COLOR", "never");
    let url = repository.url();
    let shown = answering(&sandbox, &["add", &url], Some("9\n2\ny\n"));
    for part in [
        "1  csv",
        "2  pdf",
        "`9` is not a number or name of the list",
        "add 1 skill? [y/N]",
        "added pdf to .agents/skills/pdf",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(!sandbox.project().join(".agents/skills/csv").exists());
    // Nothing is chosen.
    let shown = answering(&sandbox, &["add", &url], Some("\n"));
    assert!(shown.contains("no skill was chosen"), "{shown}");
}

#[test]
fn a_prompt_that_a_person_looks_at_is_no_load() {
    let sandbox = Sandbox::with_skills();
    sandbox.write("repertoire.toml", "[agents.builder]\nuses_skills = [\"beta\"]\n");
    assert!(on_terminal(&sandbox, &["prompt", "--agent", "builder"]).contains("Do beta."));
    assert_eq!(sandbox.events().len(), 0);
    assert!(sandbox.run(&["prompt", "--agent", "builder"]).stdout.contains("Do beta."));
    assert_eq!(sandbox.events()[0]["kind"], "skill_loaded");
}

#[test]
fn without_a_command_the_state_of_the_library_is_shown() {
    let state = |sandbox: &Sandbox| {
        let screen = on_narrow_terminal(sandbox, &[], 80).replace('\r', "");
        screen.split("\n\n").nth(1).unwrap().to_owned()
    };
    let sandbox = Sandbox::new();
    assert_eq!(state(&sandbox), "No skills yet: `rep add`, or `rep new`");
    let sandbox = Sandbox::with_skills();
    assert_eq!(state(&sandbox), "2 skills.");
    for client in [".claude", ".codex", ".cursor"] {
        sandbox.write(&format!("../home/{client}/sign"), "");
    }
    assert_eq!(
        state(&sandbox),
        "2 skills. Cursor and Codex have them. Claude Code does not:\n`rep connect claude-code`"
    );
    assert_eq!(sandbox.run(&["connect", "claude-code", "--yes"]).code, 0);
    assert_eq!(state(&sandbox), "2 skills. Claude Code, Cursor and Codex have them.");
    sandbox.write(".agents/skills/broken/SKILL.md", "---\nname: [\n");
    assert!(state(&sandbox).ends_with("1 thing to do: `rep doctor`"), "{}", state(&sandbox));
}

#[test]
fn directories_outside_the_repository_that_a_lock_names_are_asked_about() {
    let sandbox = Sandbox::new();
    let outside = tempfile::tempdir().unwrap();
    let text = "---\nname: one\ndescription: Does one thing. Use when one thing is needed.\n---\nOne.\n";
    std::fs::create_dir(outside.path().join("one")).unwrap();
    std::fs::write(outside.path().join("one/SKILL.md"), text).unwrap();
    let source = outside.path().to_str().unwrap();
    assert_eq!(sandbox.run(&["add", source, "--yes"]).code, 0);
    let shown = answering(&sandbox, &["update"], Some("n\n"));
    assert!(shown.contains("outside it; search it?") && shown.contains("nothing was searched"), "{shown}");
    let shown = answering(&sandbox, &["update"], Some("y\n"));
    assert!(shown.contains("everything is up to date"), "{shown}");
    assert_eq!(sandbox.run(&["update"]).code, 0, "nobody can be asked");
}
