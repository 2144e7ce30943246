#![no_main]
iosonar_fuzz::reader!("disksim-validation");
