// SPDX-License-Identifier: GPL-2.0-or-later
//! A policy's global data: one block, of which most is 0 where a policy has room for a thousand CPUs. A page to which
//! nobody has written takes neither memory nor time.

use std::fmt;
use std::io;

use bpf::image::Image;

use super::mapping::{Mapping, PAGE_BYTES};

/// What a run begins with.
#[derive(Clone, Debug, Default)]
pub struct AtLoad {
    bytes: usize,
    /// What is not 0, by where it lies; the later over the earlier.
    pieces: Vec<(usize, Vec<u8>)>,
}

impl AtLoad {
    /// As the object has it.
    pub fn of(image: &Image) -> Self {
        let mut pieces = Vec::new();
        for section in image.data.iter().filter(|section| !section.arena) {
            let pages = section.bytes.chunks(PAGE_BYTES).enumerate();
            for (index, page) in pages.filter(|(_, page)| page.iter().any(|byte| *byte != 0)) {
                pieces.push((section.offset as usize + index * PAGE_BYTES, page.to_vec()));
            }
        }
        Self {
            bytes: image.data_bytes as usize,
            pieces,
        }
    }

    /// # Panics
    ///
    /// Outside of the block.
    pub fn put(&mut self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.bytes);
        self.pieces.push((offset, bytes.to_vec()));
    }
}

/// The block itself, whose address code knows.
pub struct GlobalData {
    mapping: Mapping,
    bytes: usize,
}

impl GlobalData {
    pub fn none() -> Self {
        Self {
            mapping: Mapping::none(),
            bytes: 0,
        }
    }

    pub fn new(at_load: &AtLoad) -> io::Result<Self> {
        let mut data = Self {
            mapping: Mapping::new(at_load.bytes)?,
            bytes: at_load.bytes,
        };
        data.fill(at_load);
        Ok(data)
    }

    /// As it was in the beginning.
    pub fn reset(&mut self, at_load: &AtLoad) {
        self.mapping.forget(0, self.bytes);
        self.fill(at_load);
    }

    fn fill(&mut self, at_load: &AtLoad) {
        for (offset, bytes) in &at_load.pieces {
            self.write(*offset, bytes);
        }
    }

    /// # Panics
    ///
    /// Outside of the block.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.bytes);
        // SAFETY: within the mapping, to which no reference exists.
        unsafe {
            let to = self.mapping.start().add(offset).as_ptr();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
    }

    /// The pointer for the policy.
    pub fn pointer(&self) -> *mut u8 {
        self.mapping.start().as_ptr()
    }

    /// As the policy left it.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: within the mapping, and no code of the policy runs while a reference into its owner lives.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.bytes) }
    }
}

impl fmt::Debug for GlobalData {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} bytes of global data", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use bpf::image::{Data, Image};

    use super::*;

    fn section(offset: u32, bytes: Vec<u8>, arena: bool) -> Data {
        Data {
            name: ".data".to_owned(),
            offset,
            bytes,
            read_only: false,
            arena,
        }
    }

    #[test]
    fn a_block_begins_with_what_the_object_has_and_is_told_and_begins_so_again() {
        let mut first = vec![0; 3 * PAGE_BYTES];
        first[PAGE_BYTES + 7] = 1;
        let image = Image {
            data: vec![
                section(0, first.clone(), false),
                section(0, vec![9; 4], true),
                section(3 * PAGE_BYTES as u32, vec![2, 3], false),
            ],
            data_bytes: 3 * PAGE_BYTES as u32 + 64,
            ..Image::default()
        };
        let mut at_load = AtLoad::of(&image);
        assert_eq!(at_load.pieces.len(), 2, "pages of zeros are no pieces");
        at_load.put(3 * PAGE_BYTES + 1, &[4, 5]);
        let mut expected = first;
        expected.extend([2, 4, 5]);
        expected.resize(3 * PAGE_BYTES + 64, 0);
        let mut data = GlobalData::new(&at_load).unwrap();
        assert!(data.bytes() == expected);
        let at = data.pointer();
        data.write(PAGE_BYTES - 1, &[6, 6]);
        data.write(2 * PAGE_BYTES, &[7]);
        assert_eq!(data.bytes()[PAGE_BYTES - 1..][..2], [6, 6]);
        data.reset(&at_load);
        assert!(data.bytes() == expected && data.pointer() == at);
    }

    #[test]
    #[should_panic(expected = "offset + bytes.len() <= self.bytes")]
    fn nothing_is_written_behind_the_block() {
        GlobalData::none().write(0, &[1]);
    }
}
