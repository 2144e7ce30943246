#![no_main]
iosonar_fuzz::reader!("fiu");
