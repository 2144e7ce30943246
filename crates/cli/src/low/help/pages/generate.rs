//! The pages of `generate`, one for each kind of load.

use super::{Example, Page};

pub(super) const PAGES: &[Page] = &[
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
];
