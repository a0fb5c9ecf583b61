//! The model service that an agent talks to, chosen from options, configuration and environment.

use std::time::Duration;

use clap::Args;
use repertoire_agent::{Header, ModelApi, ModelClient, ModelClientOptions};

use crate::env::{ANTHROPIC_BASE_URL, OPENAI_BASE_URL};
use crate::error::CliError;
use crate::wire::Workspace;

/// The options that choose a service.
#[derive(Debug, Args)]
pub(super) struct ServiceArgs {
    /// The API of the service; by default, the one whose key is in the environment
    #[arg(long, value_name = "API", value_parser = ModelApi::ALL.map(ModelApi::as_str))]
    provider: Option<String>,
    /// The model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The address of the service, such as http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The most tokens of one answer
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_output_tokens: Option<u32>,
    /// The sampling temperature, from 0 to 2
    #[arg(long, value_name = "NUMBER", value_parser = temperature)]
    pub(super) temperature: Option<f64>,
    /// The longest time for one answer, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

fn temperature(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "it is not a number".to_owned())?;
    if (0.0..=2.0).contains(&number) { Ok(number) } else { Err("it must be between 0 and 2".to_owned()) }
}

/// A service and a model.
pub(super) struct Service {
    pub(super) provider: ModelApi,
    pub(super) model: String,
    key_variable: String,
    options: ModelClientOptions,
}

impl Service {
    /// Chooses the service: as the options say, as the resumed conversation had it, as it is configured.
    pub(super) fn choose(
        workspace: &Workspace,
        args: &ServiceArgs,
        resumed: Option<&Header>,
    ) -> Result<Self, CliError> {
        let settings = &workspace.settings.model;
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let url = args.base_url.clone().or_else(|| given(&settings.url));
        let named = args.provider.as_deref().and_then(ModelApi::parse);
        let provider = named
            .or_else(|| resumed.map(|header| header.provider))
            .or_else(|| ModelApi::parse(settings.provider));
        let provider = match provider {
            Some(provider) => provider,
            None if workspace.env.named(ModelApi::Anthropic.key_variable()).is_some() && url.is_none() => {
                ModelApi::Anthropic
            }
            None if workspace.env.named(ModelApi::OpenAi.key_variable()).is_some() || url.is_some() => {
                ModelApi::OpenAi
            }
            None => {
                return Err(CliError::usage("there is no model to talk to").hint(
                    "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or pass --base-url with the address of a local server",
                ));
            }
        };
        let model = args
            .model
            .clone()
            .or_else(|| resumed.map(|header| header.model.clone()))
            .or_else(|| given(&settings.name));
        let model = model.ok_or_else(|| {
            CliError::usage("no model is named")
                .hint("pass --model NAME, or set `model.name` in your configuration")
        })?;
        let usual = match provider {
            ModelApi::Anthropic => ANTHROPIC_BASE_URL,
            _ => OPENAI_BASE_URL,
        };
        let url = url.or_else(|| workspace.env.get(usual).map(|url| url.to_string_lossy().into_owned()));
        if let Some(url) =
            url.as_deref().filter(|url| !url.starts_with("http://") && !url.starts_with("https://"))
        {
            return Err(CliError::usage(format!("`{url}` is not an address of a service"))
                .hint("give one such as `http://127.0.0.1:8080/v1`"));
        }
        let key_variable = given(&settings.key_env).unwrap_or_else(|| provider.key_variable().to_owned());
        let key = workspace.env.named(&key_variable);
        if key.is_none() && url.is_none() {
            return Err(CliError::usage(format!("{key_variable} is not set"))
                .hint("set it, or pass --base-url with the address of a local server"));
        }
        let mut options = ModelClientOptions::default();
        options.http = workspace.env.http.clone();
        (options.base_url, options.key, options.timeout) = (url, key, Duration::from_secs(args.timeout));
        Ok(Self { provider, model, key_variable, options })
    }

    pub(super) fn client(&self) -> ModelClient {
        ModelClient::new(self.provider, self.options.clone())
    }

    /// Returns the variables that hold keys of services of models.
    pub(super) fn key_variables(&self) -> [&str; 3] {
        [&self.key_variable, ModelApi::Anthropic.key_variable(), ModelApi::OpenAi.key_variable()]
    }

    /// Returns the hint about a key that is not accepted.
    pub(super) fn key_hint(&self) -> String {
        match &self.options.key {
            Some(_) => format!("check the key in {}", self.key_variable),
            None => format!("set {} to a key of the service", self.key_variable),
        }
    }
}
