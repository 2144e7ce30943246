#![no_main]
iosonar_fuzz::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    iosonar_fuzz::each(bytes, iosonar_fuzz_texts::kernel_page);
});
