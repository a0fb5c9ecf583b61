//! Commands of the user's own configuration that are told of something.

use std::io::{self, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The time between two looks at whether the command has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs `program` with `input` on its standard input, and returns how it ended.
///
/// It has the environment and the standard error of this process, and no standard output, which may belong to a protocol. It is no command
/// of a skill, so it is not confined. After `limit` it is ended, which is an error of the kind [`io::ErrorKind::TimedOut`].
pub fn run_with_input(
    program: &str,
    arguments: &[String],
    input: Vec<u8>,
    limit: Duration,
) -> io::Result<ExitStatus> {
    #[allow(clippy::disallowed_methods, reason = "processes start in this crate")]
    let mut command = Command::new(program);
    let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        // A command that does not read its input is not waited for here. That it closes the pipe early is no fault.
        thread::spawn(move || pipe.write_all(&input));
    }
    wait(&mut child, Instant::now() + limit)
}

fn wait(child: &mut Child, deadline: Instant) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Err(io::ErrorKind::TimedOut.into());
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_command_gets_its_input_and_is_ended_after_the_limit() {
        let sh = |script: &str, input: &str, limit| {
            run_with_input("sh", &["-c".to_owned(), script.to_owned()], input.into(), limit)
        };
        let minute = Duration::from_secs(60);
        assert!(sh("test \"$(cat)\" = hello", "hello", minute).unwrap().success());
        assert_eq!(sh("exit 3", &"x".repeat(1 << 20), minute).unwrap().code(), Some(3));
        let error = sh("exec sleep 600", "", Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(run_with_input("/no/such/program", &[], Vec::new(), minute).is_err());
    }
}
