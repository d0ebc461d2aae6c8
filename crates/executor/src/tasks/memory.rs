// SPDX-License-Identifier: GPL-2.0-or-later
//! A buffer of a task's own, and writing to it.

use std::hint::black_box;

use workload::plan::Inst;

/// As large as the program needs it, and not zero, so that the pages are the task's own from the start.
pub fn buffer(program: &[Inst]) -> Vec<u8> {
    let sizes = program.iter().filter_map(|inst| match inst {
        Inst::Fill { buffer_bytes, .. } => Some(*buffer_bytes),
        _ => None,
    });
    vec![1; sizes.max().unwrap_or(0) as usize]
}

/// Writes so much from the buffer's beginning, again and again.
pub fn fill(buffer: &mut [u8], bytes: u64) {
    let mut left = bytes;
    while left > 0 {
        let part = left.min(buffer.len() as u64);
        black_box(&mut buffer[..part as usize]).fill(0);
        left -= part;
    }
    black_box(buffer);
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn it_begins_again_where_the_buffer_ends() {
        let mut buffer = [1; 4];
        fill(&mut buffer, 3);
        assert_eq!(buffer, [0, 0, 0, 1]);
        fill(&mut buffer, 5);
        assert_eq!(buffer, [0; 4]);
    }
}
