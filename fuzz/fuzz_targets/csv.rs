#![no_main]
iosonar_fuzz::reader!("csv");
