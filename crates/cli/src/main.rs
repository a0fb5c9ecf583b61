//! `rep`, the command line of Repertoire.

mod commands;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [check, compat, skills_ref, rest @ ..]
            if check == "check" && compat == "--compat" && skills_ref == "skills-ref" =>
        {
            let code = commands::check_compat::skills_ref(rest, &mut io::stdout(), &mut io::stderr())?;
            Ok(ExitCode::from(code))
        }
        _ => Ok(ExitCode::FAILURE),
    }
}
