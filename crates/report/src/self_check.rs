//! What a replay did besides submission, from a file beside its records.
//!
//! CSV with the columns of [`SELF_CHECK_HEADER`], a row for each tenth of a second or so.

/// The first line of a file of self-checks.
pub const SELF_CHECK_HEADER: &str = "end_s,ahead,in_flight,input_wait_s,answer_lag_s,answer_wait_s";

/// What is added to the name of a file of records.
pub const SELF_CHECK_ENDING: &str = ".selfcheck.csv";

/// A row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SelfCheckRow {
    /// When the interval ended, in seconds, on the load's axis of time.
    pub end_s: f64,
    /// Requests that had been read ahead, at its end.
    pub ahead: f64,
    /// Requests at the device, at its end.
    pub in_flight: f64,
    /// How long the load was waited for, in seconds.
    pub input_wait_s: f64,
    /// The longest time that a completion may have waited to be seen, in seconds.
    pub answer_lag_s: f64,
    /// The sum of such times, in seconds.
    pub answer_wait_s: f64,
}

impl SelfCheckRow {
    /// As a line of the file.
    pub fn line(&self) -> String {
        format!(
            "{},{},{},{},{},{}\n",
            self.end_s,
            self.ahead,
            self.in_flight,
            self.input_wait_s,
            self.answer_lag_s,
            self.answer_wait_s
        )
    }
}

/// The rows of a file.
///
/// # Errors
/// What is wrong, with the line and the field.
pub fn read_self_check(text: &str) -> Result<Vec<SelfCheckRow>, String> {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    if header != SELF_CHECK_HEADER {
        return Err(format!(
            "line 1: the header is '{header}', expected '{SELF_CHECK_HEADER}'"
        ));
    }
    let names: Vec<&str> = SELF_CHECK_HEADER.split(',').collect();
    let mut rows = Vec::new();
    for (i, line) in lines.enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        if fields.len() != names.len() {
            return Err(format!(
                "line {}: {} fields, expected {}",
                i + 2,
                fields.len(),
                names.len()
            ));
        }
        let mut values = [0.0; 6];
        for ((value, field), name) in values.iter_mut().zip(&fields).zip(&names) {
            *value = field
                .parse()
                .ok()
                .filter(|v: &f64| v.is_finite() && *v >= 0.0)
                .ok_or_else(|| {
                    format!(
                        "line {}: field '{name}' is '{field}', expected a number of at least 0",
                        i + 2
                    )
                })?;
        }
        let [
            end_s,
            ahead,
            in_flight,
            input_wait_s,
            answer_lag_s,
            answer_wait_s,
        ] = values;
        rows.push(SelfCheckRow {
            end_s,
            ahead,
            in_flight,
            input_wait_s,
            answer_lag_s,
            answer_wait_s,
        });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written_and_faults_named() {
        let row = SelfCheckRow {
            ahead: 4096.0,
            answer_lag_s: 1.5e-6,
            end_s: 0.1,
            ..SelfCheckRow::default()
        };
        let text = format!("{SELF_CHECK_HEADER}\n{}", row.line());
        assert_eq!(read_self_check(&text).unwrap(), [row]);
        for (text, fault) in [
            ("", "line 1"),
            ("end_s\n", "the header is 'end_s'"),
            (
                &*format!("{SELF_CHECK_HEADER}\n1,2,3\n"),
                "line 2: 3 fields",
            ),
            (
                &*format!("{SELF_CHECK_HEADER}\n1,2,3,4,5,NaN\n"),
                "field 'answer_wait_s' is 'NaN'",
            ),
        ] {
            let told = read_self_check(text).unwrap_err();
            assert!(told.contains(fault), "{told}");
        }
    }
}
