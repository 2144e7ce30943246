//! The pages of the commands that simulate, or answer by theory.

use super::{Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        command: "demo",
        brief: &["dir", "duration", "seed", "open", "quiet"],
        examples: &[
            Example {
                what: "Simulate, replay and chart in the folder iosonar-demo",
                lines: &["iosonar demo"],
            },
            Example {
                what: "Replay only two seconds of the load",
                lines: &["iosonar demo --dir /var/tmp/demo --duration 2s"],
            },
        ],
    },
    Page {
        command: "sim",
        brief: &[
            "trace", "fit", "set", "vary", "target", "explain", "cdf", "records", "json",
        ],
        examples: &[
            Example {
                what: "Check a target for an array under a recorded load",
                lines: &[
                    "iosonar sim array.toml --trace web.load.gz --fit \\",
                    "--target 'read p99 < 20ms' --cdf answer.png",
                ],
            },
            Example {
                what: "Draw the mean response time against the arrival rate",
                lines: &[
                    "iosonar sim array.toml --vary load.rate=50..200 \\",
                    "--curve rate.png --curve-of latency",
                ],
            },
            Example {
                what: "Keep the simulated requests as a trace",
                lines: &["iosonar sim next.toml --trace web.load.gz --fit --records next.load"],
            },
        ],
    },
    Page {
        command: "model",
        brief: &[
            "with_sim", "measured", "cdf", "curve", "vary", "csv", "json",
        ],
        examples: &[
            Example {
                what: "Compare theory with a simulation",
                lines: &["iosonar model raid5.toml --with-sim --cdf both.png"],
            },
            Example {
                what: "Find the best upgrades to a networked system within a budget",
                lines: &["iosonar model network.toml --budget 5000 --curve jobs.png"],
            },
        ],
    },
    Page {
        command: "plan",
        brief: &["target", "find", "trace", "fit", "vary", "curve", "json"],
        examples: &[
            Example {
                what: "Find the highest rate that meets a target",
                lines: &["iosonar plan array.toml --target 'p99 < 20ms' --curve plan.png"],
            },
            Example {
                what: "Find the fewest disks for a recorded load",
                lines: &[
                    "iosonar plan array.toml --trace web.load.gz --fit \\",
                    "--target 'read p99 < 20ms' --find disks",
                ],
            },
            Example {
                what: "Plan for several stripe units",
                lines: &[
                    "iosonar plan array.toml --target 'p99 < 20ms' \\",
                    "--vary array.stripe_unit=64KiB,256KiB,1MiB",
                ],
            },
        ],
    },
    Page {
        command: "choose",
        brief: &["target", "growth", "price", "page", "csv", "json"],
        examples: &[
            Example {
                what: "Compare two arrays and an SSD",
                lines: &[
                    "iosonar choose web.load.gz raid10:8xexos-x18 \\",
                    "raid6:8xexos-x18+cache=1GiB nvme-gen4-tlc --target 'read p99 < 20ms'",
                ],
            },
            Example {
                what: "Report how far the load can grow on each candidate, and what it costs",
                lines: &[
                    "iosonar choose web.load.gz raid10:8xexos-x18 intel-d7 \\",
                    "--target 'p99 < 20ms' --growth --price exos-x18=300 \\",
                    "--price intel-d7=900 --page answer.html",
                ],
            },
            Example {
                what: "Compare scenario files",
                lines: &[
                    "iosonar choose load.toml now.toml next.toml \\",
                    "--target 'read p99 < 5ms, write mean < 2ms'",
                ],
            },
        ],
    },
];
