//! Runs on other machines: job arrays of Slurm, and hosts over ssh.

pub mod hosts;
pub mod slurm;
