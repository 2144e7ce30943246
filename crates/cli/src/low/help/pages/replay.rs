//! The pages of the commands that replay and record.

use super::{Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        command: "replay",
        brief: &[
            "target",
            "write",
            "skip_writes",
            "speed",
            "duration",
            "fit",
            "in_flight",
            "out",
            "json",
        ],
        examples: &[
            Example {
                what: "Replay the reads of a load on a device",
                lines: &[
                    "iosonar replay web.load.gz --target /dev/sdX --skip-writes --fit \\",
                    "-o replayed.ios",
                ],
            },
            Example {
                what: "Replay one minute with writes; this destroys the data on the device",
                lines: &[
                    "iosonar replay web.load.gz --target /dev/sdX --fit --write \\",
                    "--destroy /dev/sdX --duration 60s -o replayed.ios",
                ],
            },
            Example {
                what: "Replay on a new file of 1 GiB, twice as fast",
                lines: &[
                    "iosonar replay web.load.gz --target scratch.img --create 1GiB \\",
                    "--write --fit --speed 2",
                ],
            },
            Example {
                what: "Replay on two hosts at once, over ssh",
                lines: &[
                    "iosonar replay web.load.gz --hosts n1:/dev/sdX,n2:/dev/sdX \\",
                    "--skip-writes --fit -o both.ios",
                ],
            },
            Example {
                what: "Find the highest rate that meets a limit",
                lines: &[
                    "iosonar replay web.load.gz --target /dev/sdX --skip-writes --fit \\",
                    "--find-rate 'latency p99 < 2ms'",
                ],
            },
        ],
    },
    Page {
        command: "record",
        brief: &["out", "duration", "requests", "size", "json", "quiet"],
        examples: &[Example {
            what: "Record the requests to a disk for ten minutes",
            lines: &["iosonar record /dev/sda -o web.ios --duration 10min"],
        }],
    },
    Page {
        command: "top",
        brief: &["interval", "duration", "count", "json", "quiet"],
        examples: &[
            Example {
                what: "Watch two disks",
                lines: &["iosonar top /dev/sda /dev/sdb"],
            },
            Example {
                what: "Log a line every ten seconds for an hour",
                lines: &["iosonar top /dev/sda --plain --interval 10s --duration 1h > sda.log"],
            },
        ],
    },
    Page {
        command: "check",
        brief: &["both", "json"],
        examples: &[Example {
            what: "Report how a replay differed from its load",
            lines: &["iosonar check web.load.gz replayed.ios"],
        }],
    },
    Page {
        command: "verify",
        brief: &["target", "after_crash", "json"],
        examples: &[Example {
            what: "Verify what a replay wrote before a crash",
            lines: &["iosonar verify tables.log --target /dev/sdX --after-crash"],
        }],
    },
    Page {
        command: "targets",
        brief: &["json"],
        examples: &[Example {
            what: "List all block devices",
            lines: &["iosonar targets"],
        }],
    },
    Page {
        command: "prepare",
        brief: &["target", "write", "destroy", "no_direct", "json"],
        examples: &[
            Example {
                what: "Fill a device with random data; this destroys its content",
                lines: &["iosonar prepare fill --target /dev/sdX --write --destroy /dev/sdX"],
            },
            Example {
                what: "Read the whole device",
                lines: &["iosonar prepare slurp --target /dev/sdX"],
            },
        ],
    },
];
