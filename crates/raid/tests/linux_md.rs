//! The planners of Linux md against what the kernel did: see `linux_md/cases.rs`. `tests/linux_md.rs` of the project made
//! the recording.

#[path = "linux_md/cases.rs"]
mod cases;

use cases::CASES;

#[test]
fn plans_are_what_the_kernel_was_recorded_to_do() {
    let packed = &include_bytes!("linux_md/kernel-6.1.zst")[..];
    let packed = ruzstd::decoding::StreamingDecoder::new(packed).unwrap();
    let recording = std::io::read_to_string(packed).unwrap();
    let recording = cases::by_case(&recording);
    assert_eq!(recording.len(), CASES.len());
    for case in &CASES {
        let lines = &recording[case.name];
        assert_eq!(lines.len(), case.requests().len());
        cases::check(case, lines);
    }
}
