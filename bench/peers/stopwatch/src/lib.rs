//! What the measured programs share: `PROGRAM LIBRARY REPEAT`, samples on standard output as JSON lines.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

/// What a program was asked to do.
pub struct Task {
    /// The directory that holds the skills.
    pub library: PathBuf,
    /// How often each operation is measured; once means that nothing else runs before it.
    pub repeat: usize,
}

impl Task {
    /// Reads the task from the command line.
    ///
    /// # Panics
    ///
    /// If there is no such task in it.
    pub fn from_args() -> Self {
        let mut args = std::env::args_os().skip(1);
        let library = PathBuf::from(args.next().expect("usage: PROGRAM LIBRARY REPEAT"));
        let repeat = args.next().and_then(|text| text.to_str()?.parse().ok());
        Self { library, repeat: repeat.expect("REPEAT is a number") }
    }

    /// Measures `run`, which returns how many skills it saw, and prints the samples.
    ///
    /// What `run` returns beside the count is dropped after the clock has stopped.
    pub fn measure<T>(&self, operation: &str, mut run: impl FnMut() -> (usize, T)) {
        let mut samples = Vec::with_capacity(self.repeat);
        let mut skills = 0;
        for _ in 0..self.repeat {
            let start = Instant::now();
            let (count, result) = black_box(run());
            samples.push(format!("{:.4}", start.elapsed().as_secs_f64() * 1e3));
            drop(result);
            skills = count;
        }
        println!(
            r#"{{"operation":"{operation}","skills":{skills},"samples_ms":[{}]}}"#,
            samples.join(",")
        );
    }
}
