//! Programs of the user's own configuration that run beside this one, such as MCP servers.

use std::collections::BTreeMap;
use std::io;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A program that runs beside this one. Not a skill's command, it is not confined; it ends with this value.
#[derive(Debug)]
pub struct HostProcess(Child);

impl HostProcess {
    /// Starts `program`, and returns it with its standard input and output.
    ///
    /// It has the standard error of this process, and its environment without the variables in `withheld` and
    /// with those in `variables`.
    pub fn start(
        program: &str,
        arguments: &[String],
        variables: &BTreeMap<String, String>,
        withheld: &[&str],
    ) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        #[allow(clippy::disallowed_methods, reason = "processes start in this crate")]
        let mut command = Command::new(program);
        for name in withheld {
            command.env_remove(name);
        }
        command.args(arguments).envs(variables).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let process = Self(child);
        let (input, output) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        Ok((process, input, output))
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn it_has_pipes_and_the_variables_that_it_is_given() {
        let variables = BTreeMap::from([("GIVEN".to_owned(), "given".to_owned())]);
        let script = "read line; echo \"$line $GIVEN ${PATH-none}\"".to_owned();
        let (process, mut input, mut output) =
            HostProcess::start("/bin/sh", &["-c".to_owned(), script], &variables, &["PATH"]).unwrap();
        input.write_all(b"hello\n").unwrap();
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        // A shell has a path of its own where it got none.
        assert!(text.starts_with("hello given "), "{text}");
        drop(process);
    }

    #[test]
    fn it_is_ended_with_the_value() {
        let (process, _input, mut output) =
            HostProcess::start("/bin/sleep", &["600".to_owned()], &BTreeMap::new(), &[]).unwrap();
        drop(process);
        assert_eq!(output.read_to_string(&mut String::new()).unwrap(), 0);
    }
}
