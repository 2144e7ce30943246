//! What the help of each command has besides its options.

mod about;
mod generate;
mod look;
mod replay;
mod simulate;
mod studies;
mod traces;

/// Commands that belong together.
pub(super) struct Group {
    pub(super) heading: &'static str,
    /// How many of them `iosonar -h` describes; it only names the rest.
    pub(super) common: usize,
    pub(super) commands: &'static [&'static str],
}

/// An example of a command.
pub(crate) struct Example {
    /// What it is for.
    pub(crate) what: &'static str,
    /// The command, on lines that fit a narrow terminal.
    pub(crate) lines: &'static [&'static str],
}

/// The parts of the help that are specific to a command.
pub(super) struct Page {
    /// The command's name, including the names of its parent commands.
    pub(super) command: &'static str,
    /// The options that `-h` shows, by their fields.
    pub(super) brief: &'static [&'static str],
    pub(super) examples: &'static [Example],
}

pub(super) const GROUPS: [Group; 6] = [
    Group {
        heading: "Simulate",
        common: 2,
        commands: &["demo", "sim", "choose", "plan", "model"],
    },
    Group {
        heading: "Replay",
        common: 2,
        commands: &[
            "replay", "record", "top", "check", "verify", "targets", "prepare",
        ],
    },
    Group {
        heading: "Look",
        common: 2,
        commands: &["plot", "report", "compare", "serve"],
    },
    Group {
        heading: "Traces",
        common: 2,
        commands: &["info", "convert", "analyze", "generate", "formats"],
    },
    Group {
        heading: "Studies",
        common: 2,
        commands: &[
            "sweep",
            "calibrate",
            "check-model",
            "validate",
            "import",
            "profiles",
        ],
    },
    Group {
        heading: "About",
        common: 1,
        commands: &["doctor", "explain", "bench", "completions", "man"],
    },
];

/// The page of the command whose full name is `path`.
pub(super) fn page_of(path: &str) -> Option<&'static Page> {
    all().find(|page| page.command == path)
}

/// The pages of all commands, in the order of their groups.
pub(super) fn all() -> impl Iterator<Item = &'static Page> {
    let groups = [
        simulate::PAGES,
        replay::PAGES,
        look::PAGES,
        traces::PAGES,
        generate::PAGES,
        studies::PAGES,
        about::PAGES,
    ];
    groups.into_iter().flatten()
}
