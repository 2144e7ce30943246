//! The inputs that fuzzing has found to reach all that it reached (`fuzz/corpus`, which `fuzz/run --keep` writes).

use std::fs;
use std::path::Path;

/// The inputs of a target; none, and it says so, where the folder is not there, as in a package.
pub(crate) fn inputs(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    if !folder.is_dir() {
        eprintln!("skipped: there is no {}", folder.display());
        return Vec::new();
    }
    let text = fs::read_to_string(folder.join(format!("{target}.txt"))).unwrap();
    let inputs: Vec<_> = text.lines().map(unescaped).collect();
    assert!(!inputs.is_empty(), "{target}");
    inputs
}

/// The bytes of a line: `\x0a` is one of them.
fn unescaped(line: &str) -> Vec<u8> {
    let mut parts = line.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(digits, 16).unwrap());
        bytes.extend_from_slice(rest.as_bytes());
    }
    bytes
}
