//! The tools of a skill that has a `tools.py` and no `schema.json`.

use repertoire::Entry;
use repertoire_app::workspace::left_out;
use repertoire_exec::Approval;
use repertoire_model::Bundle;
use repertoire_model::toolbox::{PYTHON_FILE, TOOLBOX_FILE};

use crate::error::CliError;
use crate::ui::{Ui, escape};
use crate::wire::{Library, Workspace};

/// The most functions that a person is warned of.
const MAX_LEFT_OUT: usize = 20;

/// Returns the tools of the skill's `tools.py` as the text of a `schema.json`, unless it has that file.
///
/// Returns none if the functions cannot be read. Warns of the reason, and of functions that cannot be tools.
pub(super) fn schema(
    ui: &mut Ui,
    workspace: &Workspace,
    library: &Library,
    entry: &Entry,
    bundle: &Bundle,
    earlier: Option<&Approval>,
) -> Result<Option<String>, CliError> {
    let find = |name: &str| bundle.files().iter().find(|file| file.path.as_str() == name);
    let Some(file) = find(PYTHON_FILE).filter(|_| find(TOOLBOX_FILE).is_none()) else { return Ok(None) };
    if let Some(schema) = earlier.and_then(|earlier| earlier.schema_of(&file.digest)) {
        return Ok(Some(schema.to_owned()));
    }
    match workspace.python_tools(&library.registry, entry) {
        Ok((tools, digest)) if digest == file.digest => {
            for what in left_out(&tools).into_iter().take(MAX_LEFT_OUT) {
                ui.warn(&format!("a function of {PYTHON_FILE} becomes no tool: {what}"))?;
            }
            Ok(Some(tools.schema))
        }
        Ok(_) => Err(CliError::no(format!("{PYTHON_FILE} was changed meanwhile")).hint("run it again")),
        Err(error) => {
            let why = escape(error.message()).into_owned();
            ui.warn(&format!("the functions of {PYTHON_FILE} are not offered as tools: {why}"))?;
            Ok(None)
        }
    }
}
