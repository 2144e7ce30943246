//! Compresses the fonts: as they are, they would be a tenth of the binary.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    for (name, font) in [
        ("regular.zlib", dejavu::sans::regular()),
        ("bold.zlib", dejavu::sans::bold()),
    ] {
        let file = File::create(folder.join(name))?;
        let mut compressed = ZlibEncoder::new(file, Compression::best());
        compressed.write_all(font)?;
        compressed.finish()?;
    }
    Ok(())
}
