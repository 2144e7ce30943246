//! How much memory simulations may take.

use clap::Args;
use iosonar_scenario::DEFAULT_MEMORY;
use iosonar_units::Bytes;

#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MemoryArgs {
    /// Use at most SIZE of memory
    ///
    /// The default is 900MiB before the first request of a simulation, and 90 % of the free memory afterwards. Large SSDs
    /// need memory for their mapping tables, and arrays that share a trace are simulated together.
    #[arg(long, help_heading = "Runs", value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,
}

impl MemoryArgs {
    /// What simulations may take before their first requests.
    pub(crate) fn at_start(self) -> Bytes {
        self.memory.unwrap_or(DEFAULT_MEMORY)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_help_names_the_default() {
        #[derive(clap::Parser)]
        struct Only {
            #[command(flatten)]
            _memory: MemoryArgs,
        }
        #[derive(clap::Parser)]
        struct OfSweep {
            #[command(flatten)]
            _sweep: crate::low::Sweep,
        }
        let help = Only::command().render_long_help().to_string();
        let default = DEFAULT_MEMORY.to_string().replace(' ', "");
        assert!(
            help.contains(&format!("The default is {default} ")),
            "{help}"
        );

        let help = OfSweep::command().render_long_help().to_string();
        let (_, of_memory) = help.split_once("--memory <SIZE>").unwrap();
        let (_, stated) = of_memory.split_once("[default: ").unwrap();
        assert!(stated.starts_with(&format!("{default}]")), "{of_memory}");
    }
}
