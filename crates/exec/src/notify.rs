//! Commands of the user's own configuration that are told of something, or asked for something.

use std::io::{self, Read as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// The time between two looks at whether the command has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs `program` with `input` on its standard input, and returns how it ended.
///
/// It has the environment and the standard error of this process, and no standard output, which may belong to
/// a protocol. It is not a command of a skill, so it is not confined. After `limit` it is ended, which is an
/// error of the kind [`io::ErrorKind::TimedOut`].
pub fn run_with_input(
    program: &str,
    arguments: &[String],
    input: Vec<u8>,
    limit: Duration,
) -> io::Result<ExitStatus> {
    let mut child = start(program, arguments, input, Stdio::null())?;
    wait(&mut child, Instant::now() + limit)
}

/// Runs `program` as [`run_with_input`] does, and returns how it ended and its standard output. More than
/// `max_bytes` of output are an error.
pub fn run_for_output(
    program: &str,
    arguments: &[String],
    input: Vec<u8>,
    limit: Duration,
    max_bytes: usize,
) -> io::Result<(ExitStatus, Vec<u8>)> {
    let deadline = Instant::now() + limit;
    let mut child = start(program, arguments, input, Stdio::piped())?;
    let (sender, receiver) = mpsc::channel();
    if let Some(pipe) = child.stdout.take() {
        thread::spawn(move || {
            let mut output = Vec::new();
            let read = pipe.take(max_bytes as u64 + 1).read_to_end(&mut output);
            sender.send(read.map(|_| output))
        });
    }
    // A process that the command left behind may keep the pipe open, so this wait has a limit too.
    let output = receiver.recv_timeout(limit);
    let status = wait(&mut child, deadline)?;
    let output = output.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    if output.len() > max_bytes {
        return Err(io::Error::other(format!("its output has more than {max_bytes} bytes")));
    }
    Ok((status, output))
}

fn start(program: &str, arguments: &[String], input: Vec<u8>, output: Stdio) -> io::Result<Child> {
    #[allow(clippy::disallowed_methods, reason = "processes start in this crate")]
    let mut command = Command::new(program);
    let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(output).spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        // A command that does not read its input is not waited for. Closing the pipe early is not a fault.
        thread::spawn(move || pipe.write_all(&input));
    }
    Ok(child)
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

    #[test]
    fn the_output_of_a_command_is_returned_within_bounds() {
        let sh = |script: &str, input: &str, limit| {
            run_for_output("sh", &["-c".to_owned(), script.to_owned()], input.into(), limit, 5)
        };
        let minute = Duration::from_secs(60);
        let (status, output) = sh("cat; exit 3", "hello", minute).unwrap();
        assert_eq!((status.code(), output.as_slice()), (Some(3), b"hello".as_slice()));
        let error = sh("cat", "hello!", minute).unwrap_err();
        assert_eq!(error.to_string(), "its output has more than 5 bytes");
        let error = sh("exec sleep 600", "", Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
