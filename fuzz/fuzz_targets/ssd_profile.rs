#![no_main]
iosonar_fuzz::text!(iosonar_fuzz::ssd_profile);
