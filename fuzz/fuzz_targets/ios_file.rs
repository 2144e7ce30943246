#![no_main]
iosonar_fuzz::file_reader!("ios");
