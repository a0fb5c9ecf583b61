//! The command line of `agentskills` as click 8.5 parses it: its help, and its complaints about wrong use.

mod close_match;

use repertoire_model::compat::skills_ref::python::repr;

use close_match::close_matches;

const GROUP_USAGE: &str = "Usage: agentskills [OPTIONS] COMMAND [ARGS]...\n";
const GROUP_HELP: &str = "\
Usage: agentskills [OPTIONS] COMMAND [ARGS]...

  Reference library for Agent Skills.

Options:
  --version  Show the version and exit.
  --help     Show this message and exit.

Commands:
  read-properties  Read and print skill properties as JSON.
  to-prompt        Generate <available_skills> XML for agent prompts.
  validate         Validate a skill directory.
";
const VERSION: &str = "agentskills, version 0.1.1\n";
const OPTIONS_HELP: &str = "\nOptions:\n  --help  Show this message and exit.\n";

/// A command of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Validate,
    ReadProperties,
    ToPrompt,
}

/// What a command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// To run a command over these paths; there is at least one.
    Run(Command, Vec<String>),
    /// To be shown this text.
    Show(String),
    /// Nothing that can be done; this text says why.
    Refuse(String),
}

impl Command {
    const ALL: [Self; 3] = [Self::ReadProperties, Self::ToPrompt, Self::Validate];

    fn name(self) -> &'static str {
        match self {
            Self::Validate => "validate",
            Self::ReadProperties => "read-properties",
            Self::ToPrompt => "to-prompt",
        }
    }

    fn argument(self) -> &'static str {
        match self {
            Self::Validate | Self::ReadProperties => "SKILL_PATH",
            Self::ToPrompt => "SKILL_PATHS...",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Validate => {
                "
  Validate a skill directory.

  Checks that the skill has a valid SKILL.md with proper frontmatter, correct
  naming conventions, and required fields.

  Exit codes:     0: Valid skill     1: Validation errors found
"
            }
            Self::ReadProperties => {
                "
  Read and print skill properties as JSON.

  Parses the YAML frontmatter from SKILL.md and outputs the properties as
  JSON.

  Exit codes:     0: Success     1: Parse error
"
            }
            Self::ToPrompt => {
                "
  Generate <available_skills> XML for agent prompts.

  Accepts one or more skill directories.

  Exit codes:     0: Success     1: Error
"
            }
        }
    }

    fn usage(self) -> String {
        format!("Usage: agentskills {} [OPTIONS] {}\n", self.name(), self.argument())
    }

    fn refuse(self, problem: &str) -> Request {
        let (usage, name) = (self.usage(), self.name());
        Request::Refuse(format!("{usage}Try 'agentskills {name} --help' for help.\n\nError: {problem}\n"))
    }
}

/// Returns what `arguments` ask for.
pub(super) fn parse(arguments: &[String], exists: impl Fn(&str) -> bool) -> Request {
    if arguments.is_empty() {
        return Request::Refuse(GROUP_HELP.to_owned());
    }
    let mut asked = None;
    let mut rest = arguments;
    while let Some((argument, after)) = rest.split_first() {
        if argument == "--" {
            rest = after;
            break;
        }
        if !is_option(argument) {
            break;
        }
        match option(argument, &["--version", "--help"]) {
            Ok(name) => asked = asked.or(Some(name)),
            Err(problem) => return problem.into_request(refuse_group),
        }
        rest = after;
    }
    match asked {
        Some("--version") => return Request::Show(VERSION.to_owned()),
        Some(_) => return Request::Show(GROUP_HELP.to_owned()),
        None => {}
    }
    let Some((name, after)) = rest.split_first() else { return refuse_group("Missing command.") };
    if let Some(command) = Command::ALL.into_iter().find(|command| command.name() == name) {
        return parse_command(command, after, exists);
    }
    if is_option(name) {
        // An option behind `--` is tried again as if it stood before.
        return parse(rest, exists);
    }
    let names = Command::ALL.map(Command::name);
    refuse_group(&format!("No such command {}.{}", repr(name), suggestion(name, &names)))
}

fn parse_command(command: Command, arguments: &[String], exists: impl Fn(&str) -> bool) -> Request {
    let mut help = false;
    let mut paths = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            paths.extend(rest.by_ref().cloned());
        } else if !is_option(argument) {
            paths.push(argument.clone());
        } else if let Err(problem) = option(argument, &["--help"]) {
            return problem.into_request(|problem| command.refuse(problem));
        } else {
            help = true;
        }
    }
    if help {
        return Request::Show(format!("{}{}{OPTIONS_HELP}", command.usage(), command.description()));
    }
    let argument = command.argument();
    if paths.is_empty() {
        return command.refuse(&format!("Missing argument '{argument}'."));
    }
    let extra = if command == Command::ToPrompt { Vec::new() } else { paths.split_off(1) };
    if let Some(path) = paths.iter().find(|path| !exists(path)) {
        let problem = format!("Invalid value for '{argument}': Path {} does not exist.", repr(path));
        return command.refuse(&problem);
    }
    if !extra.is_empty() {
        let plural = if extra.len() == 1 { "" } else { "s" };
        return command.refuse(&format!("Got unexpected extra argument{plural} ({})", extra.join(" ")));
    }
    Request::Run(command, paths)
}

fn is_option(argument: &str) -> bool {
    argument.len() > 1 && argument.starts_with('-')
}

/// What is wrong with an option.
enum OptionProblem {
    Unknown(String),
    TakesNoValue(String),
}

impl OptionProblem {
    fn into_request(self, refuse: impl Fn(&str) -> Request) -> Request {
        match self {
            Self::Unknown(problem) => refuse(&problem),
            // This one is told without usage.
            Self::TakesNoValue(problem) => Request::Refuse(format!("Error: {problem}\n")),
        }
    }
}

/// Returns the option of `known` that `argument` names.
fn option(argument: &str, known: &[&'static str]) -> Result<&'static str, OptionProblem> {
    let (name, value) = match argument.split_once('=') {
        Some((name, _)) => (name, true),
        None => (argument, false),
    };
    if let Some(known) = known.iter().find(|known| **known == name) {
        let problem = || OptionProblem::TakesNoValue(format!("Option '{known}' does not take a value."));
        return if value { Err(problem()) } else { Ok(known) };
    }
    if !argument.starts_with("--") {
        // Letters after one hyphen are options of their own, and there are none.
        let short: String = argument.chars().take(2).collect();
        return Err(OptionProblem::Unknown(format!("No such option {}.", repr(&short))));
    }
    let suggestion = suggestion(name, known);
    Err(OptionProblem::Unknown(format!("No such option {}.{suggestion}", repr(name))))
}

fn refuse_group(problem: &str) -> Request {
    Request::Refuse(format!("{GROUP_USAGE}Try 'agentskills --help' for help.\n\nError: {problem}\n"))
}

fn suggestion(word: &str, known: &[&str]) -> String {
    let mut matches = close_matches(word, known);
    matches.sort_unstable();
    let names: Vec<String> = matches.into_iter().map(repr).collect();
    match names.as_slice() {
        [] => String::new(),
        [name] => format!(" Did you mean {name}?"),
        names => format!(" (Did you mean one of: {}?)", names.join(", ")),
    }
}
