//! The provider of OpenID Connect, from the configuration.

use repertoire_web::oidc::OidcOptions;

use super::tokens;
use crate::error::CliError;
use crate::ui::escape;
use crate::wire::Workspace;

/// Returns the options of the provider, if the configuration names one.
pub(super) fn read(workspace: &Workspace) -> Result<Option<OidcOptions>, CliError> {
    let settings = &workspace.settings.oidc;
    if settings.issuer.is_empty() {
        return Ok(None);
    }
    if workspace.store_location().is_none() {
        return Err(CliError::usage("`oidc.issuer` needs a store for the sessions of people")
            .hint("set `store.url`, or a state directory"));
    }
    let mut options = OidcOptions::new(&settings.issuer, &settings.client_id);
    options.http = workspace.env.http.clone();
    if let Some(file) = &settings.client_secret_file {
        let path = workspace.env.working_directory().join(&file.path);
        options.client_secret = Some(tokens::read_secret(&path, "client secret")?.trim().to_owned());
        tokens::warn_of_readers(&path, "client secret");
    }
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    options.audience = given(&settings.audience).unwrap_or(options.audience);
    options.name_claim = given(&settings.name_claim);
    options.groups_claim.clone_from(&settings.groups_claim);
    options.role = settings.role;
    for (name, group) in &settings.groups {
        expect_known(workspace, name, group.agent.as_ref(), &group.scope.kits)?;
        options.groups.insert(name.clone(), group.clone());
    }
    if options.role.is_none() && options.groups.is_empty() {
        let hint = "set `oidc.role`, or define a group with `[oidc.groups.NAME]`";
        return Err(CliError::usage("nobody who signs in would have access").hint(hint));
    }
    Ok(Some(options))
}

/// Fails if the configuration does not have the agent or the kits of a group.
fn expect_known(
    workspace: &Workspace,
    group: &str,
    agent: Option<&String>,
    kits: &[String],
) -> Result<(), CliError> {
    let settings = &workspace.settings;
    let agents = agent.into_iter().filter(|name| !settings.agents.contains_key(*name));
    let kits = kits.iter().filter(|name| !settings.kits.contains_key(*name));
    let mut unknown = agents.map(|name| ("agent", name)).chain(kits.map(|name| ("kit", name)));
    unknown.next().map_or(Ok(()), |(noun, name)| {
        let (group, name) = (escape(group), escape(name));
        Err(CliError::usage(format!("`oidc.groups.{group}` has the {noun} `{name}`, which does not exist")))
    })
}
