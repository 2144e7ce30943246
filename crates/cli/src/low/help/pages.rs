//! What the help of each command has besides its options.

/// Commands that belong together.
pub(super) struct Group {
    pub(super) heading: &'static str,
    /// How many of them `iosonar -h` describes; it names the others.
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

/// What is particular to the help of a command.
pub(super) struct Page {
    /// The command's name, after those that it stands below.
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

pub(super) const PAGES: [Page; 43] = [
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
                what: "Draw the mean response time over the arrival rate",
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
                what: "Find the best upgrades of a networked system for a budget",
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
                what: "Report how much the load may grow, and what each candidate costs",
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
        command: "compare",
        brief: &["paired", "target", "plot", "merge", "json"],
        examples: &[
            Example {
                what: "Compare a replay with the original, and draw both",
                lines: &["iosonar compare original=web.ios replayed.ios --plot charts"],
            },
            Example {
                what: "Compare two simulations of the same requests",
                lines: &["iosonar compare now.load next.load --paired"],
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
                what: "Fit an SSD model on one half of a replay, and test it on the other",
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
    Page {
        command: "plot",
        brief: &["list", "out", "terminal", "data", "size", "target", "merge"],
        examples: &[
            Example {
                what: "Draw the sonar diagram of a replay",
                lines: &["iosonar plot sonar replayed.ios -o sonar.png"],
            },
            Example {
                what: "Compare distributions in the terminal",
                lines: &["iosonar plot cdf now=a.ios next=b.ios --terminal"],
            },
            Example {
                what: "Draw all charts into a folder",
                lines: &["iosonar plot all replayed.ios -o charts"],
            },
            Example {
                what: "List the charts",
                lines: &["iosonar plot --list"],
            },
        ],
    },
    Page {
        command: "report",
        brief: &["out", "title", "all", "target", "merge", "open", "quiet"],
        examples: &[
            Example {
                what: "Write a page about a replay",
                lines: &["iosonar report replayed.ios -o page.html"],
            },
            Example {
                what: "Compare a replay with a simulation, and check a target",
                lines: &[
                    "iosonar report replayed.ios simulated=next.load \\",
                    "--target 'read p99 < 20ms'",
                ],
            },
        ],
    },
    Page {
        command: "serve",
        brief: &["address", "control", "title", "target", "open"],
        examples: &[
            Example {
                what: "Watch a replay that writes its records to run.ios",
                lines: &["iosonar serve run.ios"],
            },
            Example {
                what: "Watch a sweep from another machine",
                lines: &["iosonar serve --address 0.0.0.0:8080 study/"],
            },
        ],
    },
    Page {
        command: "convert",
        brief: &[
            "out", "paste", "split", "from", "until", "ops", "sort", "to",
        ],
        examples: &[
            Example {
                what: "Compress a blktrace recording",
                lines: &["iosonar convert sda.blktrace.0 -o web.ios"],
            },
            Example {
                what: "Extract ten minutes of reads",
                lines: &[
                    "iosonar convert web.ios --from 1h --duration 10min --ops read \\",
                    "-o part.load.gz",
                ],
            },
            Example {
                what: "Merge two traces by time",
                lines: &["iosonar convert a.ios b.ios -o both.ios"],
            },
        ],
    },
    Page {
        command: "info",
        brief: &["format", "lenient", "json"],
        examples: &[Example {
            what: "Summarise a trace",
            lines: &["iosonar info web.load.gz"],
        }],
    },
    Page {
        command: "analyze",
        brief: &["merge", "window", "by", "csv", "from", "until", "json"],
        examples: &[
            Example {
                what: "Measure a trace, by operation",
                lines: &["iosonar analyze web.load.gz --by op"],
            },
            Example {
                what: "Write time series and distributions as CSV",
                lines: &["iosonar analyze web.load.gz --csv tables"],
            },
        ],
    },
    Page {
        command: "generate",
        brief: &[],
        examples: &[
            Example {
                what: "Generate a minute of Poisson arrivals",
                lines: &["iosonar generate poisson --rate 200 -o poisson.load"],
            },
            Example {
                what: "Generate a load that resembles a recorded one",
                lines: &["iosonar generate like web.load.gz -o similar.load.gz"],
            },
        ],
    },
    Page {
        command: "formats",
        brief: &["json"],
        examples: &[Example {
            what: "List the formats",
            lines: &["iosonar formats"],
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
                lines: &["iosonar profiles exos-x18 --check"],
            },
        ],
    },
    Page {
        command: "bench",
        brief: &["target", "json"],
        examples: &[
            Example {
                what: "Measure the simulator",
                lines: &["iosonar bench sim"],
            },
            Example {
                what: "Measure replays of a device",
                lines: &["iosonar bench replay --target /dev/sdX"],
            },
        ],
    },
    Page {
        command: "generate poisson",
        brief: &[
            "rate",
            "requests",
            "duration",
            "block",
            "size",
            "read_share",
            "addresses",
            "space",
            "out",
            "seed",
        ],
        examples: &[Example {
            what: "Generate Zipf-distributed reads",
            lines: &[
                "iosonar generate poisson --rate 500 --read-share 1 \\",
                "--addresses zipf=0.9 -o zipf.load",
            ],
        }],
    },
    Page {
        command: "generate constant",
        brief: &[
            "rate",
            "requests",
            "duration",
            "block",
            "size",
            "read_share",
            "addresses",
            "space",
            "out",
            "seed",
        ],
        examples: &[Example {
            what: "Generate sequential reads at a constant rate",
            lines: &[
                "iosonar generate constant --rate 100 --read-share 1 \\",
                "--addresses sequential=1000 -o sequential.load",
            ],
        }],
    },
    Page {
        command: "generate on-off",
        brief: &[
            "rate",
            "on",
            "off",
            "pareto",
            "requests",
            "duration",
            "read_share",
            "space",
            "out",
            "seed",
        ],
        examples: &[Example {
            what: "Generate heavy-tailed bursts",
            lines: &[
                "iosonar generate on-off --rate 1000 --on 1s --off 9s --pareto 1.5 \\",
                "-o bursts.load",
            ],
        }],
    },
    Page {
        command: "generate b-model",
        brief: &[
            "rate",
            "bias",
            "requests",
            "duration",
            "block",
            "read_share",
            "addresses",
            "space",
            "out",
            "seed",
        ],
        examples: &[Example {
            what: "Generate a strongly self-similar load",
            lines: &[
                "iosonar generate b-model --rate 200 --bias 0.8 --duration 10min \\",
                "-o cascade.load",
            ],
        }],
    },
    Page {
        command: "generate noise",
        brief: &[
            "rate",
            "hurst",
            "variation",
            "requests",
            "duration",
            "read_share",
            "addresses",
            "space",
            "out",
            "seed",
        ],
        examples: &[Example {
            what: "Generate an hour of self-similar arrivals",
            lines: &[
                "iosonar generate noise --rate 200 --hurst 0.9 --duration 1h \\",
                "-o noise.load",
            ],
        }],
    },
    Page {
        command: "generate bursts",
        brief: &[
            "slope",
            "seconds",
            "size",
            "read_share",
            "space",
            "out",
            "seed",
        ],
        examples: &[Example {
            what: "Generate bursts that grow for a minute",
            lines: &["iosonar generate bursts --slope 20 --seconds 60 -o bursts.load"],
        }],
    },
    Page {
        command: "generate sweep",
        brief: &[
            "rate",
            "step",
            "ways",
            "size",
            "read_share",
            "space",
            "out",
            "seed",
        ],
        examples: &[Example {
            what: "Sweep over a drive of 4 TB once",
            lines: &["iosonar generate sweep --ways 1 --space 4TB -o sweep.load"],
        }],
    },
    Page {
        command: "generate impulse",
        brief: &[
            "burst",
            "period",
            "impulses",
            "size",
            "read_share",
            "space",
            "out",
            "seed",
        ],
        examples: &[Example {
            what: "Generate an impulse every minute",
            lines: &["iosonar generate impulse --burst 500 --period 1min -o impulse.load"],
        }],
    },
    Page {
        command: "generate probe",
        brief: &["space", "requests", "spacing", "write_share", "out", "seed"],
        examples: &[Example {
            what: "Probe a drive of 500 GB",
            lines: &["iosonar generate probe --space 500GB -o probe.load"],
        }],
    },
    Page {
        command: "generate like",
        brief: &["length", "out", "seed", "json"],
        examples: &[Example {
            what: "Generate an hour of load that resembles a recorded one",
            lines: &["iosonar generate like web.load.gz --length 1h -o similar.load.gz"],
        }],
    },
    Page {
        command: "doctor",
        brief: &["json"],
        examples: &[Example {
            what: "Check this machine",
            lines: &["iosonar doctor"],
        }],
    },
    Page {
        command: "explain",
        brief: &[],
        examples: &[
            Example {
                what: "Explain a warning",
                lines: &["iosonar explain W031"],
            },
            Example {
                what: "List all warnings and errors",
                lines: &["iosonar explain"],
            },
        ],
    },
    Page {
        command: "completions",
        brief: &[],
        examples: &[Example {
            what: "Install completions for bash",
            lines: &[
                "iosonar completions bash > \\",
                "~/.local/share/bash-completion/completions/iosonar",
            ],
        }],
    },
    Page {
        command: "man",
        brief: &[],
        examples: &[Example {
            what: "Install the manual pages for yourself",
            lines: &["iosonar man ~/.local/share/man/man1"],
        }],
    },
];
