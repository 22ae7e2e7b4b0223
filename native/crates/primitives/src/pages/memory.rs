//! Whether there is memory for an arena: asked before it is touched, because afterwards the kernel
//! would end the process instead of answering.

use crate::PrimitiveError;

/// Refuses more bytes than the kernel says are available (`MemAvailable`; a limit of a control
/// group is not looked at). Without that line nothing is refused.
pub fn require(bytes: usize) -> Result<(), PrimitiveError> {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    check(bytes as u64, available(&text))
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

fn check(bytes: u64, available: Option<u64>) -> Result<(), PrimitiveError> {
    match available {
        Some(available) if bytes > available => Err(PrimitiveError::Missing {
            what: format!(
                "the data need {} MiB of memory, of which {} MiB are available",
                bytes.div_ceil(1 << 20),
                available >> 20
            ),
            next: "make the workload's data smaller, or free memory".to_owned(),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_is_available_is_refused_with_both_numbers() {
        let meminfo = "MemTotal:  4096 kB\nMemAvailable:       2048 kB\n";
        assert_eq!(available(meminfo), Some(2 << 20));
        assert!(check(2 << 20, available(meminfo)).is_ok());
        let refused = check((2 << 20) + 1, available(meminfo)).unwrap_err().to_string();
        assert!(refused.contains("need 3 MiB") && refused.contains("2 MiB are"), "{refused}");
        assert!(check(u64::MAX, available("MemFree: 1 kB\n")).is_ok());
    }
}
