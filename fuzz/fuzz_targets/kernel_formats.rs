#![no_main]
iosonar_fuzz::text!(iosonar_fuzz_texts::kernel_formats);
