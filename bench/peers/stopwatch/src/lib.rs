//! The harness of the measured programs: `PROGRAM LIBRARY REPEAT`, samples on standard output as JSON lines.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// The arguments of a measured program.
pub struct Task {
    /// The directory that holds the skills.
    pub library: PathBuf,
    /// The number of measurements of each operation; with 1 nothing else runs before it.
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

    /// Measures `run`, which returns the number of skills it saw, and prints the samples.
    ///
    /// The value that `run` returns beside the count is dropped after the clock has stopped.
    pub fn measure<T>(&self, operation: &str, mut run: impl FnMut() -> (usize, T)) {
        let (mut wall, mut cpu) = (Vec::new(), Vec::new());
        let mut skills = 0;
        for _ in 0..self.repeat {
            let (wall_start, cpu_start) = (Instant::now(), cpu_ms());
            let (count, result) = black_box(run());
            wall.push(format!("{:.4}", wall_start.elapsed().as_secs_f64() * 1e3));
            cpu.push(format!("{:.4}", cpu_ms() - cpu_start));
            drop(result);
            skills = count;
        }
        println!(
            r#"{{"operation":"{operation}","skills":{skills},"wall_ms":[{}],"cpu_ms":[{}]}}"#,
            wall.join(","),
            cpu.join(",")
        );
    }
}

/// Measures `run` once for each of `items`, and prints the percentiles of the times of single calls.
///
/// The result of `run` is dropped after the clock has stopped.
///
/// # Panics
///
/// If there are no items.
pub fn measure_calls<T, R>(operation: &str, items: impl IntoIterator<Item = T>, mut run: impl FnMut(T) -> R) {
    let mut wall = Vec::new();
    let cpu_start = cpu_ms();
    for item in items {
        let start = Instant::now();
        let result = black_box(run(item));
        wall.push(start.elapsed().as_secs_f64() * 1e3);
        drop(result);
    }
    let cpu = (cpu_ms() - cpu_start) / wall.len() as f64;
    print_percentiles(operation, wall, cpu);
}

/// Prints the percentiles of the times of single calls, `wall`, and the processor time of one, `cpu`, in ms.
///
/// # Panics
///
/// If there were no calls.
pub fn print_percentiles(operation: &str, mut wall: Vec<f64>, cpu: f64) {
    wall.sort_by(f64::total_cmp);
    assert!(!wall.is_empty(), "there is nothing to measure");
    for percent in [50, 99] {
        println!(
            r#"{{"operation":"{operation} p{percent}","calls":{},"wall_ms":[{:.6}],"cpu_ms":[{cpu:.6}]}}"#,
            wall.len(),
            wall[(wall.len() - 1) * percent / 100],
        );
    }
}

/// Returns the processor time that all threads of this process have used, in the kernel as well.
fn cpu_ms() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}
