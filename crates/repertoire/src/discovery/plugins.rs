//! Agent Plugins: directories with a `plugin.json`, read under the specification's rules of failure.

use std::fs::{canonicalize, symlink_metadata};
use std::io;
use std::path::{Path, PathBuf};

use repertoire_model::Policy;
use repertoire_model::RuleId;
use repertoire_model::plugin::{
    MANIFEST_FILE, MAX_BYTES, MCP_FILE, PluginFinding, PluginManifest, PluginServer, SKILLS, read_manifest,
    read_mcp,
};

use super::{Root, Tier};
use crate::provider::Problem;
use crate::regular_file;

/// A plugin that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plugin {
    /// Its directory.
    pub directory: PathBuf,
    /// Its manifest.
    pub manifest: PluginManifest,
    /// Its directory of skills, if it has one.
    pub skills: Option<PathBuf>,
    /// Its MCP servers that are valid; nothing starts them.
    pub servers: Vec<PluginServer>,
}

impl Plugin {
    /// Returns the root of its skills; no directory below those of the skills is searched for more.
    pub fn root(&self) -> Option<Root> {
        let path = self.skills.clone()?;
        Some(Root { label: format!("plugin:{}", self.manifest.name), path, tier: Tier::Plugin })
    }
}

/// Returns `true` if `directory` is a plugin: it has a `plugin.json`, valid or not.
pub fn is_plugin(directory: &Path) -> bool {
    symlink_metadata(directory.join(MANIFEST_FILE)).is_ok()
}

/// Reads the plugin in `directory`; `None` if it is rejected, for one of the problems.
pub fn plugin(directory: &Path, policy: &Policy) -> (Option<Plugin>, Vec<Problem>) {
    let mut reader = PluginReader { directory, policy, problems: Vec::new() };
    let plugin = reader.read();
    (plugin, reader.problems)
}

struct PluginReader<'a> {
    directory: &'a Path,
    policy: &'a Policy,
    problems: Vec<Problem>,
}

impl PluginReader<'_> {
    fn report(&mut self, file: &str, rule: RuleId, message: impl Into<String>) {
        let path = self.directory.join(file).to_string_lossy().into_owned();
        self.problems.extend(Problem::new(self.policy, rule, path, message.into()));
    }

    fn report_all(&mut self, file: &str, findings: Vec<PluginFinding>) {
        for finding in findings {
            self.report(file, finding.rule, finding.message);
        }
    }

    /// Returns the bytes of `file`; `None` if there is not one, and the reason if it may not be read.
    fn bytes(&self, file: &str) -> Option<Result<Vec<u8>, String>> {
        let path = self.directory.join(file);
        match symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return Some(Err(error.to_string())),
            Ok(_) => {}
        }
        if !self.is_contained(&path) {
            return Some(Err("it leads out of the plugin".to_owned()));
        }
        Some(regular_file::read(&path, MAX_BYTES).map_err(|error| error.to_string()))
    }

    /// Returns `true` if `path` lies in the plugin after links are resolved.
    fn is_contained(&self, path: &Path) -> bool {
        let (Ok(root), Ok(path)) = (canonicalize(self.directory), canonicalize(path)) else { return false };
        path.starts_with(root)
    }

    fn read(&mut self) -> Option<Plugin> {
        let bytes = match self.bytes(MANIFEST_FILE)? {
            Ok(bytes) => bytes,
            Err(reason) => {
                self.report(
                    MANIFEST_FILE,
                    RuleId::PluginInvalid,
                    format!("plugin.json cannot be read: {reason}"),
                );
                return None;
            }
        };
        let (manifest, findings) = read_manifest(&bytes);
        self.report_all(MANIFEST_FILE, findings);
        let manifest = manifest?;
        let (skills, servers) = (self.skills(), self.servers());
        Some(Plugin { directory: self.directory.to_owned(), manifest, skills, servers })
    }

    fn skills(&mut self) -> Option<PathBuf> {
        let path = self.directory.join(SKILLS);
        // A plugin need not have skills.
        symlink_metadata(&path).ok()?;
        if path.is_dir() && self.is_contained(&path) {
            return Some(path);
        }
        self.report(
            SKILLS,
            RuleId::SourceBroken,
            "`skills` is not a directory in the plugin, so its skills are ignored",
        );
        None
    }

    fn servers(&mut self) -> Vec<PluginServer> {
        match self.bytes(MCP_FILE) {
            None => Vec::new(),
            Some(Ok(bytes)) => {
                let (servers, findings) = read_mcp(&bytes);
                self.report_all(MCP_FILE, findings);
                servers
            }
            Some(Err(reason)) => {
                self.report(MCP_FILE, RuleId::PluginServer, format!("mcp.json cannot be read: {reason}"));
                Vec::new()
            }
        }
    }
}
