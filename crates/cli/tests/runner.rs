//! The tests of the command line, in one binary so that it is linked once: one module per command.
//!
//! A new command gets a `test_<command>_command.rs`; tests of no single command go to `test_global.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "the program under test is started, and its files are looked at"
)]

#[cfg(unix)]
#[path = "../../store/tests/server.rs"]
#[allow(dead_code, reason = "the tests of the store use all of it")]
mod postgres_server;
#[path = "../../agent/tests/support/mod.rs"]
#[allow(dead_code, reason = "the tests of the agent use all of it")]
mod model_server;
#[path = "../../web/tests/provider.rs"]
#[allow(dead_code, unreachable_pub, reason = "the tests of the server use all of it")]
mod oidc_provider;
mod sandbox;
mod machine;
#[cfg(unix)]
mod test_adopt_command;
#[cfg(unix)]
mod test_adopt_kill_loop;
#[cfg(unix)]
mod git_repository;
#[cfg(unix)]
mod test_change_safety;
#[cfg(unix)]
mod test_add_command;
#[cfg(unix)]
mod test_add_kill_loop;
mod test_agent_command;
mod test_approve_command;
mod test_call_command;
mod test_catalog_command;
mod test_certificates_and_proxy;
mod test_check_command;
mod test_connect_overview;
mod test_completions_command;
mod test_connect_command;
mod test_cost_command;
mod test_dashboard_command;
mod test_deployment;
mod test_configuration;
mod test_disable_command;
mod test_disable_for_clients;
mod test_doctor_command;
mod test_list_duplicates;
mod test_documentation;
mod test_eval_command;
mod test_events;
mod test_events_command;
mod test_explain_command;
mod test_show_files;
mod test_global;
#[cfg(unix)]
mod test_hints;
#[cfg(unix)]
mod test_history_command;
mod test_hook_command;
mod test_init_command;
#[cfg(unix)]
mod test_interruption;
#[cfg(unix)]
mod test_kill_loop;
mod test_kit_command;
mod test_link_command;
mod test_list_command;
mod test_list_client;
mod test_migrate_command;
mod test_new_command;
mod test_notices;
mod test_offered_tools;
mod test_pack_command;
mod test_prompt_command;
#[cfg(unix)]
mod test_permissions;
#[cfg(unix)]
mod test_proposal_command;
mod test_publish_command;
#[cfg(unix)]
mod test_publish_kill_loop;
#[cfg(unix)]
mod test_records;
mod test_run_command;
mod test_search_command;
mod test_self_command;
mod test_serve_command;
mod test_session_command;
mod test_show_command;
mod test_signing_in;
mod test_stats_command;
#[cfg(unix)]
mod test_store_failures;
mod test_team_channel_command;
mod test_team_server;
mod test_team_token_command;
mod test_tools_over_mcp;
mod test_list_changed;
#[cfg(unix)]
mod test_undo_command;
#[cfg(unix)]
mod test_update_command;
mod test_watch_command;
#[cfg(unix)]
mod test_terminal;

#[test]
fn no_test_file_is_forgotten() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let runner = include_str!("runner.rs");
    for entry in root.join("tests").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let is_run =
                runner.contains(&format!("mod {name};")) || manifest.contains(&format!("name = \"{name}\""));
            assert!(is_run, "tests/{name}.rs is neither a module of runner.rs nor a test of Cargo.toml");
        }
    }
}
