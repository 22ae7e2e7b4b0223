//! Commands as bytes: arrays of bulk strings. Nothing allocates once the output has its size.

/// Appends a whole command, its name first.
pub fn command(output: &mut Vec<u8>, parts: &[&[u8]]) {
    start(output, parts.len());
    parts.iter().for_each(|part| bulk(output, part));
}

/// Appends the beginning of a command; so many calls of [`bulk`] have to follow.
pub fn start(output: &mut Vec<u8>, parts: usize) {
    number(output, b'*', parts);
}

/// Appends one part of a command.
pub fn bulk(output: &mut Vec<u8>, part: &[u8]) {
    number(output, b'$', part.len());
    output.extend_from_slice(part);
    output.extend_from_slice(b"\r\n");
}

fn number(output: &mut Vec<u8>, mark: u8, mut value: usize) {
    // A mark, up to 20 digits, CR and LF; written from the end.
    let mut line = [0; 23];
    let mut start = line.len() - 2;
    line[start..].copy_from_slice(b"\r\n");
    loop {
        start -= 1;
        line[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    start -= 1;
    line[start] = mark;
    output.extend_from_slice(&line[start..]);
}
