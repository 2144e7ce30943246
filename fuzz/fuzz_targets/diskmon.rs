#![no_main]
iosonar_fuzz::reader!("diskmon");
