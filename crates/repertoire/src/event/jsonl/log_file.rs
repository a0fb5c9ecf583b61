//! The file that events are appended to.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// The file that events are appended to, open.
#[derive(Debug)]
pub(crate) struct LogFile {
    file: File,
    metadata: Metadata,
    /// Whether it ends within a line: a disk was full, or a process ended while it wrote.
    is_torn: bool,
}

impl LogFile {
    /// Opens the file at `path`, and makes it and its directory where they are not there.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut file = match open_regular(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_directory(path.parent().unwrap_or(path))?;
                open_regular(path)?
            }
            outcome => outcome?,
        };
        let metadata = file.metadata()?;
        let is_torn = ends_within_a_line(&mut file, metadata.len());
        Ok(Self { file, metadata, is_torn })
    }

    /// Returns the bytes of the file, if `path` still leads to it.
    #[cfg(unix)]
    pub(crate) fn size_at(&self, path: &Path) -> Option<u64> {
        use std::os::unix::fs::MetadataExt as _;

        let (there, here) = (fs::symlink_metadata(path).ok()?, &self.metadata);
        ((there.dev(), there.ino()) == (here.dev(), here.ino())).then_some(there.len())
    }

    /// Returns nothing: here nobody can tell cheaply whether it is the same file, so it is opened for every event.
    #[cfg(not(unix))]
    pub(crate) fn size_at(&self, _path: &Path) -> Option<u64> {
        None
    }

    /// Returns the bytes that the file had when it was opened.
    pub(crate) fn size_when_opened(&self) -> u64 {
        self.metadata.len()
    }

    /// Appends a line in one write. The `line` begins with the newline that ends a torn one before it.
    pub(crate) fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let line = if self.is_torn { line } else { line.get(1..).unwrap_or_default() };
        let written = loop {
            match self.file.write(line) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome?,
            }
        };
        // The rest is not written after it: somebody else's line may stand there by now.
        self.is_torn = written < line.len();
        Ok(())
    }
}

/// Opens the regular file at `path` for appending, and makes it if there is nothing.
///
/// Anything else is refused without waiting for it: a pipe would block, a device would do who knows what, and a link
/// would let who may write to the directory choose a file that its owner may write to.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let refused = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    // Opening a device may have effects of its own, so it is not opened to find out.
    if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(refused());
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    guard(&mut options);
    let file = options.open(path)?;
    // What is asked is the handle, so that nothing can take the file's place in between.
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused()) }
}

#[cfg(unix)]
fn guard(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    options.mode(0o600).custom_flags(flags.bits().cast_signed());
}

#[cfg(windows)]
fn guard(options: &mut OpenOptions) {
    use std::os::windows::fs::OpenOptionsExt as _;

    /// `FILE_FLAG_OPEN_REPARSE_POINT`: a link is opened itself, and is no regular file then.
    const OPEN_LINK: u32 = 0x0020_0000;
    options.custom_flags(OPEN_LINK);
}

#[cfg(not(any(unix, windows)))]
fn guard(_options: &mut OpenOptions) {}

/// Makes `directory` and those above it, for its owner alone: what agents do may be private.
fn make_directory(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

fn ends_within_a_line(file: &mut File, size: u64) -> bool {
    let mut last = [b'\n'];
    // Where nobody can tell, the file is taken to be whole.
    size > 0
        && file.seek(SeekFrom::Start(size - 1)).and_then(|_| file.read_exact(&mut last)).is_ok()
        && last != [b'\n']
}
