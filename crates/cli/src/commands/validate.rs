//! `iosonar validate`: a recording and a profile in, how far they are apart out.

use std::path::Path;

use anyhow::Context;
use iosonar_disk_model::DiskProfile;
use iosonar_plot::{Colour, Mark};
use iosonar_report::{Quantity, cdf_of, curve, grouped, show_quantiles};
use iosonar_stats::Labels;
use iosonar_study::validate::{Fit, Validation, validate};
use iosonar_trace::input;

use crate::exit::{Ending, Usage, note, print, print_data};
use crate::low::Validate;
use crate::render::style::Tone;
use crate::render::table::Table;
use crate::render::{picture, remarks};
use iosonar_stats::Output;
use iosonar_trace::apart;

pub(crate) fn run(args: &Validate) -> anyhow::Result<Ending> {
    if let Some(plot) = &args.plot {
        picture::check(plot, args.pixels)?;
        apart::refuse_unusable(&[&args.trace, Path::new(&args.profile)], &[plot])?;
    }
    let profile = DiskProfile::load(&args.profile, Path::new("."))
        .map_err(|e| Usage(format!("PROFILE: {e}")))?;
    let reading = args.reading.reading()?;
    if !reading.changes.is_empty() {
        let problem =
            "validate needs the unchanged recording: remove the options that change the load";
        return Err(Usage(problem.to_owned()).into());
    }
    let mut recording = input::open_changed(&args.trace, &reading)?;
    let of =
        validate(&profile, &mut *recording).with_context(|| args.trace.display().to_string())?;
    remarks::print_of_records(recording.metadata(), args.output.quiet);
    match args.output.json {
        true => {
            let input = args.trace.display().to_string();
            let labels = Labels::of("profile", &args.profile).with("input", input);
            let mut json = Output::new("validate");
            json.metrics(of.metrics(&labels));
            print_data(&json.text())?;
        }
        false => print(&table(&profile, &of))?,
    }
    if let Some(plot) = &args.plot {
        let curves = [
            ("measured", &of.all.measured, Colour::Curve(0)),
            ("simulated", &of.all.simulated, Colour::Curve(1)),
        ];
        let [measured, simulated] = curves.map(|(name, of, colour)| curve(name, of, colour));
        let marks = vec![Mark::Line(measured), Mark::Line(simulated.dashed())];
        let title = format!(
            "{}: demerit {}",
            profile.description,
            milliseconds(of.demerit_ms)
        );
        let mut chart = cdf_of(&title, Quantity::Latency, marks);
        show_quantiles(&mut chart, &curves);
        picture::draw(&chart, plot, args.pixels.scale())?;
        if !args.output.quiet {
            note(&format!("picture: {}", plot.display()));
        }
    }
    Ok(match of.fit() {
        Fit::Poor => Ending::Flagged,
        Fit::Good | Fit::TooFew => Ending::Done,
    })
}

/// What the fit means, in a line.
fn judgement(fit: Fit) -> String {
    match fit {
        Fit::Good => format!(
            "  {}: the demerit is at most {:.0} % of the mean\n",
            Tone::Good.of("GOOD"),
            100.0 * Validation::POOR
        ),
        Fit::TooFew => format!(
            "  at least {} requests are needed to judge the profile\n",
            grouped(Validation::FEWEST)
        ),
        Fit::Poor => format!(
            "  {}: the demerit is more than {:.0} % of the mean; with a profile of the recorded drive, 0.6 to 6 % is \
             typical, so this may be a recording of another drive\n",
            Tone::Bad.of("POOR"),
            100.0 * Validation::POOR
        ),
    }
}

fn milliseconds(ms: f64) -> String {
    format!("{ms:.3} ms")
}

fn table(profile: &DiskProfile, of: &Validation) -> String {
    let mut table = Table::of_times("access time");
    for (name, class) in of.classes() {
        if class.measured.count() > 0 {
            table.times(&format!("{name}, measured"), &class.measured);
            table.times(&format!("{name}, simulated"), &class.simulated);
        }
    }
    let relative = of.demerit_relative();
    let share = match relative.is_finite() {
        true => format!(" ({:.1} % of the mean)", 100.0 * relative),
        false => String::new(),
    };
    format!(
        "{}, {} requests in a closed loop\n\n{}\n  demerit {}{}, KS {:.3}; {:.0} % of the requests \
         are within 0.1 ms, {:.0} % within 0.5 ms\n  demerit: root mean square horizontal distance between the curves\n{}",
        profile.description,
        grouped(of.all.measured.count()),
        table.text(),
        milliseconds(of.demerit_ms),
        share,
        of.ks,
        100.0 * of.within[0],
        100.0 * of.within[1],
        judgement(of.fit()),
    )
}
