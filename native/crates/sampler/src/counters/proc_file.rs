//! A file of /proc or /sys that stays open and is read from its beginning each time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::Absent;

/// The kernel makes such a file's text anew when it is read at offset 0; one page is what it makes
/// at once.
const FIRST_BYTES: usize = 4096;

/// An open file and a buffer, which grows to the file's size and stays so.
#[derive(Debug)]
pub struct ProcFile {
    file: File,
    path: PathBuf,
    buffer: Vec<u8>,
}

impl ProcFile {
    /// Opens it, and reads it once, because some may be opened but not read; `what` names what is
    /// absent if that fails.
    pub fn open(path: impl AsRef<Path>, what: &str) -> Result<Self, Absent> {
        let path = path.as_ref().to_path_buf();
        let absent = |error: io::Error| Absent::new(what, format!("{}: {error}", path.display()));
        let file = File::open(&path).map_err(absent)?;
        let mut opened = Self { file, path: path.clone(), buffer: vec![0; FIRST_BYTES] };
        opened.read().map_err(absent)?;
        Ok(opened)
    }

    /// The whole text as it is now.
    pub fn read(&mut self) -> io::Result<&[u8]> {
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                self.buffer.resize(2 * filled, 0);
            }
            match self.file.read_at(&mut self.buffer[filled..], filled as u64) {
                Ok(0) => return Ok(&self.buffer[..filled]),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The text, or nothing if it cannot be read this time.
    pub fn text(&mut self) -> &[u8] {
        self.read().unwrap_or_default()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_whole_each_time_however_long_it_is() {
        let path = std::env::temp_dir().join(format!("assay-proc-file-{}", std::process::id()));
        std::fs::write(&path, "first").unwrap();
        let mut file = ProcFile::open(&path, "x").unwrap();
        assert_eq!(file.read().unwrap(), b"first");
        let long = "a line\n".repeat(5000);
        std::fs::write(&path, &long).unwrap();
        assert_eq!(file.read().unwrap(), long.as_bytes());
        std::fs::write(&path, "").unwrap();
        assert_eq!(file.text(), b"");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_of_many_records_is_read_to_its_end() {
        let mut file = ProcFile::open("/proc/vmstat", "vm").unwrap();
        let slow = std::fs::read_to_string("/proc/vmstat").unwrap();
        let names = |text: &str| {
            text.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect()
        };
        let (fast, slow): (Vec<String>, Vec<String>) =
            (names(str::from_utf8(file.read().unwrap()).unwrap()), names(&slow));
        assert_eq!(fast, slow);
    }

    #[test]
    fn one_that_is_not_there_is_absent_with_its_path() {
        let absent = ProcFile::open("/proc/no-such-file", "thing").unwrap_err();
        assert_eq!(absent.what, "thing");
        assert!(absent.why.contains("/proc/no-such-file: No such file"), "{}", absent.why);
    }
}
