//! `xml`: guidance, then one element a skill. The default.
//!
//! Models take a skill for a tool and call it by its name unless the prompt explains it with an example that
//! names a skill they have; hence the wording of the second paragraph where the call itself is not shown.

use super::layout::{Frame, Layout, push_end};
use crate::catalog::entry::Item;
use crate::escape::{push_code, push_xml};
use crate::text::escape_xml;

const HEADING: &str = "## Skills\n\nSkills are instructions for particular kinds of task.";

pub(super) struct Xml;

impl Layout for Xml {
    fn open(&self, out: &mut String, frame: &Frame<'_>) {
        let load = &frame.options.tool_name;
        out.push_str(&format!(
            "{HEADING} A Skill is NOT a tool: to use one, call the `{load}` tool with its name, then follow the \
             instructions it returns."
        ));
        if let Some(example) = frame.example.filter(|_| !frame.options.usage) {
            let mut name = String::new();
            push_code(&mut name, &escape_xml(example));
            out.push_str(&format!(
                " For example, to use {name}, call `{load}` with the name {name}; there is no tool of that name."
            ));
        }
        out.push_str(
            "\n\nLoad a Skill proactively whenever a task matches its description; you do not need to ask permission. \
             Each Skill needs loading only once: its instructions remain available above.",
        );
        if let Some(tool) = &frame.options.file_tool {
            out.push_str(&format!(" Read the files that a loaded Skill refers to on demand, with `{tool}`."));
        }
        out.push_str("\n\n<available_skills>\n");
    }

    fn entry(&self, out: &mut String, item: &Item<'_>, description: Option<&str>) {
        out.push_str(if item.primary { "<skill primary=\"true\"><name>" } else { "<skill><name>" });
        push_xml(out, &item.name);
        out.push_str("</name>");
        if let Some(description) = description {
            out.push_str("<description>");
            push_xml(out, description);
            out.push_str("</description>");
        }
        out.push_str("</skill>");
    }

    fn name(&self, out: &mut String, item: &Item<'_>) {
        push_xml(out, &item.name);
    }

    fn close(&self, out: &mut String, frame: &Frame<'_>, note: Option<&str>) {
        out.push_str("</available_skills>\n");
        push_end(out, frame, note);
    }
}
