//! The command line: parse, run a command, turn what happened into an exit code.
//!
//! This is the only crate that prints. A command reads from top to bottom as its data flow: trace
//! or scenario, engine, records, report.

mod beside;
mod commands;
mod completion;
mod desktop;
mod exit;
mod live;
mod low;
mod memory;
mod privileges;
mod render;
mod signals;
mod stdout;

use std::ffi::OsString;
use std::fmt;
use std::process::ExitCode;

use clap::FromArgMatches;

use crate::low::{Arguments, Command};
use crate::render::screen::{self, Wanted};

/// How the binary was built.
#[derive(Clone, Copy, Debug, Default)]
pub struct Build {
    /// The commit of the source, where it was known.
    pub commit: Option<&'static str>,
    /// The platform that it runs on, as a target triple.
    pub target: &'static str,
    /// The profile: `release` or `debug`.
    pub profile: &'static str,
    /// The features of the package that are on, separated by commas.
    pub features: &'static str,
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |text: &'static str| if text.is_empty() { "none" } else { text };
        writeln!(f, "{}", env!("CARGO_PKG_VERSION"))?;
        writeln!(f, "commit:   {}", self.commit.unwrap_or("not recorded"))?;
        writeln!(f, "target:   {}", known(self.target))?;
        writeln!(f, "profile:  {}", known(self.profile))?;
        write!(f, "features: {}", known(self.features))
    }
}

/// What the binary carries with it.
#[derive(Clone, Copy, Debug)]
pub struct Assets {
    /// How it was built.
    pub build: Build,
    /// The load of the demo, gzipped blkreplay text.
    pub demo_load: &'static [u8],
    /// The scenario of the demo.
    pub demo_scenario: &'static str,
}

/// Reads Arrow and Parquet files. What their decoders panic at becomes an error, so it is not printed.
#[cfg(feature = "arrow")]
fn decode_arrow() {
    iosonar_arrow::register();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !iosonar_arrow::is_decoding() {
            before(panic);
        }
    }));
}

/// What is done for the process as a whole before a command.
fn guard_process(command: &Command) -> anyhow::Result<()> {
    // Before any other thread starts: each has capabilities of its own.
    if matches!(command, Command::Record(_) | Command::Top(_)) {
        privileges::give_up();
    }
    signals::clean_up()?;
    if let Some(of) = command.memory() {
        memory::guard(of.memory);
    }
    Ok(())
}

/// Runs the command line `arguments` (the program's name first) and returns the exit code: 0 success,
/// 1 failure, 2 usage error, invalid scenario or refusal, 3 finished but flagged, 130 interrupted.
pub fn run(arguments: impl IntoIterator<Item = OsString>, assets: &Assets) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Err(error) = stdout::refuse_if_closed() {
        return exit::code(Err(error.into()));
    }
    if let Err(error) = signals::fail_beyond_file_size_limit() {
        return exit::code(Err(error));
    }
    #[cfg(feature = "arrow")]
    decode_arrow();
    match completion::answer(&arguments, || low::command(usize::MAX, Build::default())) {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => return exit::code(Err(error.into())),
    }
    let mut command = low::command(render::terminal::columns_for_help(), assets.build);
    let parsed = command.try_get_matches_from_mut(&arguments);
    let parsed = parsed.and_then(|matches| {
        Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    });
    // An error of the parser looks as the words that it could not parse ask for.
    screen::settle(match &parsed {
        Ok(arguments) => arguments.wanted(),
        Err(_) => Wanted::of_words(&arguments),
    });
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => {
            let text = low::explained(error).render().ansi().to_string();
            exit::write_error(&screen::screen().err.shown(&text));
            return ExitCode::from(exit::USAGE);
        }
        // Help or version.
        Err(asked) => {
            let printed = exit::print_picture(&asked.render().ansi().to_string());
            return exit::code(printed.map(|()| exit::Ending::Done));
        }
    };
    if let Err(error) = guard_process(&arguments.command) {
        return exit::code(Err(error));
    }
    let outcome = match arguments.command {
        Command::Demo(args) => commands::demo::run(&args, assets),
        Command::Sim(args) => commands::sim::run(&args),
        Command::Model(args) => commands::model::run(&args),
        Command::Plan(args) => commands::plan::run(&args),
        Command::Choose(args) => commands::choose::run(&args),
        Command::Sweep(args) => commands::sweep::run(&args),
        Command::SweepTask(args) => commands::sweep::run_task(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Calibrate(args) => commands::calibrate::run(&args),
        Command::CheckModel(args) => commands::check_model::run(&args),
        Command::Import(args) => commands::import::run(&args),
        Command::Validate(args) => commands::validate::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Record(args) => commands::record::run(&args),
        Command::Top(args) => commands::top::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Verify(args) => commands::verify::run(&args),
        Command::Targets(args) => commands::targets::run(&args),
        Command::Prepare(args) => commands::prepare::run(&args),
        Command::Plot(args) => commands::plot::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Serve(args) => commands::serve::run(&args),
        Command::Convert(args) => commands::convert::run(&args),
        Command::Info(args) => commands::info::run(&args),
        Command::Analyze(args) => commands::analyze::run(&args),
        Command::Generate(args) => commands::generate::run(&args),
        Command::Formats(args) => commands::formats::run(&args),
        Command::Profiles(args) => commands::profiles::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args, assets.build),
        Command::Agent => commands::agent::run(),
        Command::Bench(args) => commands::bench::run(&args),
    };
    exit::code(outcome)
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
