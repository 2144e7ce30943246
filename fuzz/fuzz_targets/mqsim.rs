#![no_main]
iosonar_fuzz::reader!("mqsim");
