//! A disk serves the requests of a trace in their order.

use iosonar_sim_core::{Calendar, Nanos, Seed};
use iosonar_trace::{Batch, Outcome, Record, TraceError, input, output};

fn main() -> Result<(), TraceError> {
    let mut service = Seed::new(1).stream("disk", "service");
    let (mut calendar, mut free_at) = (Calendar::default(), Nanos::ZERO);
    let mut reader = input::open("load.csv".as_ref())?;
    let mut batch = Batch::default();
    while reader.next_batch(&mut batch)? > 0 {
        for request in batch.requests() {
            free_at = request.start.max(free_at) + service.exponential(Nanos::from_millis(5));
            calendar.schedule(free_at, request);
        }
    }
    let mut writer = output::create("simulated.load.gz".as_ref(), reader.metadata())?;
    batch.clear();
    while let Some((now, request)) = calendar.pop() {
        let outcome = Outcome::done(Nanos::ZERO, now - request.start);
        batch.push(&Record { request, outcome });
    }
    writer.write(&batch)?;
    writer.finish()?;

    let mut reader = input::open("simulated.load.gz".as_ref())?;
    let (mut count, mut sum) = (0, 0.0);
    while reader.next_batch(&mut batch)? > 0 {
        for record in batch.records() {
            count += 1;
            sum += record.outcome.latency.unwrap().as_millis_f64();
        }
    }
    println!("requests {count}\nmean_ms {}", sum / f64::from(count));
    Ok(())
}
