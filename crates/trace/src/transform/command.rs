//! The text of a load through a shell command.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use crate::formats::by_format_name;
use crate::whole_file::Output;
use crate::{
    Batch, CutOff, Metadata, ReadOptions, Sink, Source, TraceError, TraceReader, TraceWriter,
    WriteOptions,
};

/// What a command makes of a load.
pub(super) struct Piped {
    output: Option<Box<dyn TraceReader>>,
    stdout: Option<Box<dyn Read + Send>>,
    child: Child,
    command: String,
    /// Ends with what was remarked while the load was read.
    feeder: Option<JoinHandle<Result<Metadata, TraceError>>>,
    metadata: Metadata,
}

struct Stdin(std::io::BufWriter<std::process::ChildStdin>);

impl Write for Stdin {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Output for Stdin {
    fn close(mut self: Box<Self>) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Starts `command` and pipes the blkreplay text of `inner` through it.
pub(super) fn piped(
    mut inner: Box<dyn TraceReader>,
    path: &Path,
    command: &str,
) -> Result<Piped, TraceError> {
    let io = |source| TraceError::Io {
        path: command.into(),
        action: "run the command",
        source,
    };
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(io)?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io(std::io::ErrorKind::BrokenPipe.into()));
    };
    // The text does not distinguish devices.
    let metadata = Metadata {
        devices: Vec::new(),
        remarks: Vec::new(),
        ..inner.metadata().clone()
    };
    // The command sees the header line and the rows, without notices.
    let format = by_format_name("blkreplay")?;
    let sink = Sink {
        output: Box::new(Stdin(std::io::BufWriter::with_capacity(1 << 16, stdin))),
        path: path.to_owned(),
    };
    let mut writer: Box<dyn TraceWriter> =
        format.writer(sink, &Metadata::default(), &WriteOptions::default())?;
    let feeder = std::thread::spawn(move || {
        let mut batch = Batch::default();
        while inner.next_batch(&mut batch)? > 0 {
            match writer.write(&batch) {
                // A command such as head has enough.
                Err(TraceError::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::BrokenPipe =>
                {
                    return Ok(inner.metadata().clone());
                }
                other => other?,
            }
        }
        match writer.finish() {
            Err(TraceError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::BrokenPipe =>
            {
                Ok(inner.metadata().clone())
            }
            other => other.map(|()| inner.metadata().clone()),
        }
    });
    Ok(Piped {
        output: None,
        stdout: Some(Box::new(stdout)),
        child,
        command: command.to_owned(),
        feeder: Some(feeder),
        metadata,
    })
}

impl Piped {
    fn end(&mut self) -> Result<(), TraceError> {
        if let Some(feeder) = self.feeder.take() {
            let fed = feeder.join();
            // It is waited for whatever happened.
            let status = self.child.wait().map_err(|source| TraceError::Io {
                path: self.command.clone().into(),
                action: "wait for the command",
                source,
            })?;
            match fed {
                Ok(outcome) => self.metadata.add_remarks(&outcome?),
                Err(_) => {
                    return Err(TraceError::Option(format!(
                        "--cmd '{}': the load could not be written to its standard input",
                        self.command
                    )));
                }
            }
            if !status.success() {
                return Err(TraceError::Option(format!(
                    "--cmd '{}' ended with {status}, expected success",
                    self.command
                )));
            }
        }
        Ok(())
    }
}

impl TraceReader for Piped {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        if let Some(stdout) = self.stdout.take() {
            let source = Source {
                input: stdout,
                path: format!("output of --cmd '{}'", self.command).into(),
                file: None,
                cut: CutOff::default(),
            };
            let reader = by_format_name("blkreplay")?.reader(source, &ReadOptions::default());
            self.output = Some(reader?);
        }
        let Some(output) = &mut self.output else {
            return Ok(0);
        };
        match output.next_batch(batch) {
            Ok(0) => {
                self.output = None;
                self.end()?;
                Ok(0)
            }
            // A command without output has failed, which is the error to report. Otherwise
            // it ends because its reader has gone.
            Err(error) => {
                self.output = None;
                let ended = self.end();
                if matches!(error, TraceError::UnknownFormat { .. }) {
                    ended?;
                }
                Err(error)
            }
            more => more,
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        if self.feeder.is_some() {
            // The reader has closed: the command is not waited for.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::Status;
    use crate::testing::Given;

    fn given(starts: impl IntoIterator<Item = u64>) -> Box<Given> {
        let rows = starts.into_iter().map(|start| (start, Status::Done));
        let mut given = Given::new([Given::reads(rows)]);
        given.metadata.notices.push("a notice".to_owned());
        Box::new(given)
    }

    #[test]
    fn a_command_sees_rows_without_notices_which_are_kept_beside_it() {
        let mut piped = piped(given([1, 2]), Path::new("x"), "grep -v notice").unwrap();
        assert_eq!(piped.metadata().notices, ["a notice"]);
        assert!(piped.metadata().devices.is_empty());
        let mut batch = Batch::default();
        assert_eq!(piped.next_batch(&mut batch).unwrap(), 2);
        assert_eq!(piped.next_batch(&mut batch).unwrap(), 0);
        assert_eq!(piped.metadata().notices, ["a notice"]);
        assert_eq!(piped.metadata().remarks, []);
    }

    #[test]
    fn a_command_that_nobody_reads_any_more_is_ended() {
        let piped = piped(given([1]), Path::new("x"), "exec sleep 60").unwrap();
        let process = format!("/proc/{}", piped.child.id());
        assert!(Path::new(&process).exists());
        drop(piped);
        assert!(!Path::new(&process).exists());
    }

    #[test]
    fn what_fails_behind_a_command_is_an_error() {
        for (command, words) in [
            ("cat; exit 3", "ended with exit status: 3"),
            ("true", "the file contains no requests"),
            ("false", "ended with exit status: 1"),
            ("echo '1 ; 2'", "output of --cmd"),
        ] {
            let mut piped = piped(given([1]), Path::new("x"), command).unwrap();
            let mut batch = Batch::default();
            let error = loop {
                match piped.next_batch(&mut batch) {
                    Ok(0) => panic!("{command}"),
                    Ok(_) => {}
                    Err(error) => break error.to_string(),
                }
            };
            assert!(error.contains(words), "{command}: {error}");
        }
    }
}
