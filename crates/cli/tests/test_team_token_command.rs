//! `rep team token`.

use serde_json::json;

use crate::sandbox::{Sandbox, assert_run};

#[test]
fn a_token_is_shown_once_listed_and_revoked() {
    let sandbox = Sandbox::new();
    let created = sandbox.json(&[
        "team",
        "token",
        "create",
        "--name",
        "ann",
        "--role",
        "author",
        "--allow",
        "git-*",
        "--deny",
        "git-secrets",
        "--expires",
        "90d",
        "--store",
        "fleet.db",
        "--json",
    ]);
    let secret = created["token"].as_str().unwrap();
    assert!(secret.starts_with("rep_") && secret.len() == 68, "{secret}");
    assert_eq!((&created["role"], &created["allow"]), (&json!("author"), &json!(["git-*"])));
    let list = |options: &[&str]| {
        sandbox.json(&[&["team", "token", "list", "--store", "fleet.db", "--json"], options].concat())["tokens"]
            .clone()
    };
    let tokens = list(&[]);
    assert_eq!((tokens.as_array().unwrap().len(), &tokens[0]["name"]), (1, &json!("ann")));
    assert!(!tokens.to_string().contains(secret));
    let database = std::fs::read(sandbox.project().join("fleet.db")).unwrap();
    assert!(!String::from_utf8_lossy(&database).contains(&secret[4..]), "the secret is kept nowhere");

    // Several tokens of one name are revoked together.
    let printed = sandbox.run(&["team", "token", "create", "--name", "ann", "--store", "fleet.db"]);
    assert!(printed.stdout.starts_with("rep_") && printed.stdout.lines().count() == 1, "{}", printed.stdout);
    assert!(printed.stderr.contains("reader; it does not end"), "{}", printed.stderr);
    let id = tokens[0]["id"].as_str().unwrap();
    let run = sandbox.run(&["team", "token", "revoke", id, "--store", "fleet.db"]);
    assert_eq!(run.stdout, format!("revoked {id} of ann\n"));
    assert_eq!(sandbox.run(&["team", "token", "revoke", "ann", "--store", "fleet.db"]).code, 0);
    assert_run!(sandbox.run(&["team", "token", "list", "--store", "fleet.db"]), @"
    exit 0
    --- stdout
    --- stderr
    there are no tokens
    ");
    assert_eq!(list(&["--all"]).as_array().unwrap().len(), 2);
    assert_run!(sandbox.run(&["team", "token", "revoke", "ann", "--store", "fleet.db"]), @"
    exit 1
    --- stdout
    --- stderr
    error: there is no token of `ann`, nor one with this id
    hint: run `rep team token list --store fleet.db` to see the tokens
    ");
}

#[test]
fn tokens_with_bad_options_are_refused() {
    let sandbox = Sandbox::new();
    for options in [
        &["--name", "a b"][..],
        &["--name", "ann", "--role", "owner"],
        &["--name", "ann", "--expires", "soon"],
        &["--name", "ann", "--allow", "a b"],
    ] {
        let run = sandbox.run(&[&["team", "token", "create", "--store", "fleet.db"], options].concat());
        assert_eq!(run.code, 2, "{options:?} {}", run.stderr);
    }
    assert!(!sandbox.project().join("fleet.db").exists());
}
