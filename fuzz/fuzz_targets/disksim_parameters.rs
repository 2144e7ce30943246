#![no_main]
iosonar_fuzz::text!(iosonar_fuzz::disksim_parameters);
