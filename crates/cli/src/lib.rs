//! The command line of iosonar.
