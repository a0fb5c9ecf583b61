//! Loads `repertoire.toml`, so that an embedder gets what `rep` gets.
//!
//! Nothing here reads the environment or the home directory: [`ConfigInput`] holds them.

mod client_plugins;
mod input;
mod error;
mod trust;
mod settings;
mod tools;
mod agents;
mod oidc;
mod keys;
mod gone;
mod parse;
mod kits;
mod clash;
mod profiles;
mod profile_choice;
mod layers;
mod places;
mod assemble;
mod template;

pub use agents::{AGENT_KEYS, AgentKey, ConfiguredAgent};
pub use error::{ConfigError, ConfigFault, FaultyFile};
pub use gone::gone_keys;
pub use input::{
    ConfigFileOwner, ConfigFiles, ConfigInput, ConfigOverride, ConfiguredPath, FILE_NAME, KitChoice,
    OverrideValue,
};
pub use keys::{ConfigValue, KEYS, Key, ValueKind};
pub use oidc::{OidcGroup, OidcSettings};
pub use profile_choice::{PROFILES, ProfileChoice};
pub use settings::{
    CatalogPreference, DisabledPattern, Embeddings, ExecSettings, LinkTargets, ModelSettings, SandboxChoice,
    SearchSettings, Settings,
};
pub use template::TEMPLATE;
pub use trust::FileTrust;
