//! A file of what the shells did: whether each text did its rule's act. The shells know nothing of
//! hookwire, so that stays true however hookwire changes, and a million texts take hours once and
//! minutes from then on.

use crate::acts::RULES;
use crate::generate::Sample;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::Mutex;

/// What is known, and where it is kept: a line for each text, with the beginning of its digest and
/// `1` if the act happened.
pub struct Outcomes {
    known: HashMap<u64, bool>,
    file: Mutex<File>,
}

impl Outcomes {
    pub fn open(path: &Path) -> io::Result<Outcomes> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .open(path)?;
        let mut known = HashMap::new();
        for line in BufReader::new(&file).lines() {
            // A run that was ended may have left half a line.
            if let Some((digest, happened)) = line?.split_once(' ')
                && let Ok(digest) = u64::from_str_radix(digest, 16)
            {
                known.insert(digest, happened == "1");
            }
        }
        Ok(Outcomes {
            known,
            file: Mutex::new(file),
        })
    }

    /// Whether a text did the act: as it is kept, or as `run` says.
    pub fn known_or(&self, sample: &Sample, run: impl FnOnce() -> bool) -> bool {
        let digest = digest(sample);
        if let Some(happened) = self.known.get(&digest) {
            return *happened;
        }
        let happened = run();
        let line = format!("{digest:016x} {}\n", u8::from(happened));
        self.file
            .lock()
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
        happened
    }
}

fn digest(sample: &Sample) -> u64 {
    let mut hash = Sha256::new();
    let files = sample.files.iter().flat_map(|(name, text)| [&**name, text]);
    for part in [sample.shell, RULES[sample.rule].text, &sample.text]
        .into_iter()
        .chain(files)
    {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    u64::from_le_bytes(hash.finalize()[..8].try_into().unwrap())
}
