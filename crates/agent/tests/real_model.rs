//! A conversation with a real model, where `REPERTOIRE_E2E_MODEL` holds the address of a server that speaks
//! OpenAI's and Anthropic's APIs, such as `http://127.0.0.1:8091`; `bench/README.md` has a recipe for one.
//! `REPERTOIRE_E2E_MODEL_NAME` is the name of the model.

use std::sync::Mutex;

use repertoire::tool::OfferedTools;
use repertoire::{Library, MemoryProvider, SessionOptions, SkillDefinition};
use repertoire_agent::{Agent, AgentOptions, ModelApi, ModelClient, ModelClientOptions, Progress};

fn library() -> Library {
    let skills = [
        (
            "csv-report",
            "Answers questions about CSV files. Use when a table or a .csv file is mentioned.",
            "# CSV reports\n\nAlways begin the answer with the word BANANA. Then say that the file has 60 rows.\n",
        ),
        (
            "pdf-forms",
            "Fills in PDF forms. Use when a PDF or a form is mentioned.",
            "# PDF forms\n\nAsk for the form.\n",
        ),
        (
            "git",
            "Commits and inspects changes with git. Use when a repository is mentioned.",
            "# Git\n\nLook at the status first.\n",
        ),
        ("email", "Writes e-mails. Use when a message to a person is wanted.", "# E-mail\n\nBe brief.\n"),
    ];
    let skills =
        skills.iter().map(|(name, description, body)| SkillDefinition::new(*name, *description, *body));
    let provider = MemoryProvider::new("builtin", skills.collect());
    // A model that small is served best with `load_skill` alone.
    let mut options = SessionOptions::default();
    options.tools.offered = OfferedTools::Minimal;
    pollster::block_on(Library::builder().provider(provider).session_options(options).open()).unwrap()
}

#[test]
#[allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "the environment names the server, and a skip is told"
)]
fn a_real_model_picks_a_skill_and_loads_it_and_the_cache_is_read() {
    let Ok(url) = std::env::var("REPERTOIRE_E2E_MODEL") else {
        eprintln!("SKIPPED: REPERTOIRE_E2E_MODEL names no server with a real model");
        return;
    };
    let model = std::env::var("REPERTOIRE_E2E_MODEL_NAME").unwrap_or_else(|_| "qwen".to_owned());
    for (provider, path) in [(ModelApi::OpenAi, "/v1"), (ModelApi::Anthropic, "")] {
        let mut http = ModelClientOptions::default();
        http.base_url = Some(format!("{}{path}", url.trim_end_matches('/')));
        http.timeout = std::time::Duration::from_secs(3600);
        let mut options = AgentOptions::new(&model);
        options.temperature = Some(0.0);
        options.limits.requests = 4;
        let session = pollster::block_on(library().session()).unwrap();
        let mut agent = Agent::new(ModelClient::new(provider, http), session, options);
        let usages = Mutex::new(Vec::new());
        let outcome =
            pollster::block_on(agent.run(
                "How many rows does data/sales.csv have?",
                &|progress| match progress {
                    Progress::Answered { usage } => usages.lock().unwrap().push(*usage),
                    Progress::Call { name, input } => eprintln!("{provider:?}: {name} {input}"),
                    _ => {}
                },
            ))
            .unwrap();
        let usages = usages.into_inner().unwrap();
        eprintln!("{provider:?}: {:?}; {usages:?}", outcome.text);
        assert!(
            agent.session().context().loaded().iter().any(|name| name.as_str() == "csv-report"),
            "{provider:?} loaded nothing"
        );
        // Models of this size load the skill and often write the call again instead of following it, so this
        // is told and not required.
        let follows = if outcome.text.contains("BANANA") { "follows" } else { "does NOT follow" };
        eprintln!("{provider:?}: the model {follows} the instructions");
        assert!(usages[1].cache_read > usages[0].whole_input() / 2, "{provider:?}: {usages:?}");
    }
}
