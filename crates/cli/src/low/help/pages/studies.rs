//! The pages of the commands for studies of many runs, and for device models.

use super::{Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        command: "sweep",
        brief: &[
            "dir", "jobs", "dry_run", "only", "set", "replot", "hosts", "json", "quiet",
        ],
        examples: &[
            Example {
                what: "List the runs of an experiment and estimate their duration",
                lines: &["iosonar sweep experiment.toml --dry-run"],
            },
            Example {
                what: "Run the experiment, four runs at once",
                lines: &["iosonar sweep experiment.toml --jobs 4"],
            },
            Example {
                what: "Redraw tables and charts",
                lines: &["iosonar sweep experiment --replot"],
            },
        ],
    },
    Page {
        command: "calibrate",
        brief: &["profile", "out", "cdf", "capacity", "json"],
        examples: &[
            Example {
                what: "Fit an SSD model to a replay",
                lines: &["iosonar calibrate replayed.ios --profile ssd -o mine.toml"],
            },
            Example {
                what: "Fit a disk profile, and draw the fit",
                lines: &[
                    "iosonar calibrate probe.ios --profile seagate-st3500630ns \\",
                    "-o mine.toml --cdf fit.png",
                ],
            },
        ],
    },
    Page {
        command: "check-model",
        brief: &[
            "target",
            "profile",
            "out",
            "profile_out",
            "records",
            "fit",
            "write",
            "skip_writes",
            "json",
        ],
        examples: &[
            Example {
                what: "Fit an SSD model to one half of a replay, and test it on the other",
                lines: &[
                    "iosonar check-model web.load.gz --target /dev/sdX --fit \\",
                    "--skip-writes -o check.png",
                ],
            },
            Example {
                what: "Fit a disk profile, and save it",
                lines: &[
                    "iosonar check-model web.load.gz --target /dev/sdX \\",
                    "--profile seagate-st3500630ns --profile-out mine.toml",
                ],
            },
            Example {
                what: "Use the records of an earlier replay",
                lines: &["iosonar check-model replayed.ios --json"],
            },
        ],
    },
    Page {
        command: "import",
        brief: &[],
        examples: &[Example {
            what: "Convert a drive from DiskSim's library",
            lines: &["iosonar import disksim atlas10k.parv -o drive.toml"],
        }],
    },
    Page {
        command: "import disksim",
        brief: &["out", "disk", "quiet"],
        examples: &[Example {
            what: "Convert a drive from DiskSim's library",
            lines: &["iosonar import disksim atlas10k.parv -o drive.toml"],
        }],
    },
    Page {
        command: "validate",
        brief: &["plot", "json", "quiet"],
        examples: &[Example {
            what: "Compare a profile with a recording of its drive",
            lines: &["iosonar validate quantum-atlas-10k atlas.load --plot both.png"],
        }],
    },
    Page {
        command: "profiles",
        brief: &["check", "json"],
        examples: &[
            Example {
                what: "List the built-in drives",
                lines: &["iosonar profiles"],
            },
            Example {
                what: "Check a profile against its data sheet",
                lines: &["iosonar profiles seagate-exos-x18-18tb --check"],
            },
        ],
    },
];
