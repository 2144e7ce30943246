//! Which charts and tables a set of records gets.
