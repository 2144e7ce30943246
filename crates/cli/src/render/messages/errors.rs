//! Why work cannot begin or go on.

use super::messages;

messages! {
/// Errors that users meet first.
Error:
TraceIo = "E001" "a trace cannot be read or written" {
    "The operating system refused to open, read or write the file. The message shows the reason."
    "The file was not processed."
    "Check the path, its permissions and the free space on the disk."
    "ls -l web.load" }
StreamCutOff = "E002" "compressed data are truncated" {
    "The file ends in the middle of its compressed data, for example because a copy was interrupted."
    "The last requests are missing."
    "Fetch the file again, or read the intact part with --lenient."
    "iosonar info web.load.gz --lenient" }
StreamDamaged = "E003" "compressed data are damaged" {
    "The decompressor found data that no compressor could have written."
    "The data decompressed before the damage may be wrong, too, so --lenient does not use them."
    "Fetch the file again."
    "gzip -t web.load.gz" }
FieldWrong = "E004" "a field of a trace does not match its format" {
    "The message names the line, the field, its contents and what was expected."
    "Either the line is damaged, or the format of the file was not recognised correctly."
    "Correct the line, name the format with --format, or skip such rows."
    "iosonar info web.csv --lenient" }
FieldMissing = "E005" "a line of a trace ends too early" {
    "The line has fewer fields than its format requires."
    "Either the line is damaged, or the format of the file was not recognised correctly."
    "Correct the line, name the format with --format, or skip such rows."
    "iosonar formats" }
Unsorted = "E006" "the start times of a load go backwards" {
    "A request starts before the previous one, but a load must be sorted by intended start."
    "Records of replays and simulations are in the order of completion, so they must be sorted before they can be replayed."
    "Sort the trace with 'iosonar convert --sort', or add --sort to the command that reads it."
    "iosonar convert run.ios --sort -o run.load" }
FormatUnknown = "E007" "the format of a trace is not recognised" {
    "Neither the contents nor the name of the file matches a known format."
    "Nothing was read."
    "Choose a format from the list. For a CSV file with other columns, name them with --columns."
    "iosonar formats" }
OutputNameUnknown = "E008" "the file name of an output does not select a format" {
    "The ending of a file name selects the format of a trace, and this build of iosonar cannot write a trace with this ending."
    "Nothing was written."
    "Choose one of the endings in the message, such as .ios or .load."
    "iosonar convert a.csv -o a.ios" }
NotWritable = "E009" "a format can be read but not written" {
    "The format belongs to another tool, and iosonar only reads it."
    "Nothing was written."
    "Write .ios or .csv."
    "iosonar formats" }
OverwritesInput = "E010" "an output would overwrite an input" {
    "The input and the output have the same path."
    "The input would be destroyed before it has been read completely."
    "Choose another name for the output."
    "iosonar convert a.ios -o b.ios" }
SameOutput = "E011" "two outputs are the same file" {
    "Two options name the same file."
    "One output would overwrite the other."
    "Give each output a different name."
    "iosonar sim a.toml --cdf a.png --cdf-data a.csv" }
OutputPlace = "E012" "an output is a folder, or no file can be created in its folder" {
    "The path of the output is that of a folder, or its folder does not exist, or no file can be created there."
    "The command stopped before it did any work, so no result is lost."
    "Choose a different name, or create the folder, or change its permissions."
    "mkdir -p results" }
OptionUnfit = "E013" "an option for reading or writing cannot be used here" {
    "The message names the option and what it needs."
    "Nothing was done."
    "Change or remove the option."
    "iosonar convert --help" }
TraceDamaged = "E014" "the rest of a trace does not match its format" {
    "Part of the file is damaged, or the program that wrote it was killed."
    "Everything after the intact part is unreadable or missing."
    "Fetch or record the file again. --lenient reads the intact part."
    "iosonar info run.ios.part --lenient" }
RequestUnfit = "E015" "a request cannot be served" {
    "A request of the load does not fit the device or array; for example, it extends beyond the end."
    "Changing such a request silently would distort the result."
    "Use a larger target, or choose --fit, --wrap or --clip."
    "iosonar sim array.toml --trace web.load --fit" }
ScenarioIo = "E020" "a scenario cannot be read" {
    "The operating system refused to open or read the file."
    "Nothing was simulated."
    "Check the path. The folder examples/ of the project contains scenarios to start from."
    "iosonar sim examples/raid5-mysql.toml --trace web.load" }
ScenarioSyntax = "E021" "a scenario is not valid TOML" {
    "The message shows the line and what was expected there."
    "Nothing was simulated."
    "Correct the line; text values need quotes, numbers do not."
    "rate = 100" }
KeyRefused = "E022" "a key of a scenario is refused" {
    "The key is unknown, misspelt, in the wrong table, or contradicts another key."
    "If the key were ignored, the result would answer a different question."
    "Correct the key as the message says, or print the scenario with all its defaults."
    "iosonar sim array.toml --explain" }
IsTrace = "E023" "a trace was given as a scenario" {
    "A scenario describes storage, but this file contains requests."
    "Nothing was simulated."
    "Give a scenario that describes the storage, and name the trace with --trace."
    "iosonar sim examples/raid5-mysql.toml --trace web.load" }
IsProfile = "E024" "a device profile was given as a scenario" {
    "A profile describes one drive; a scenario also needs the load and the array."
    "Nothing was simulated."
    "Name the profile in a scenario."
    "[disk]\nprofile = \"mine.toml\"" }
SetRefused = "E025" "a key or value of --set is refused" {
    "The key or value of --set does not fit the scenario."
    "Nothing was simulated."
    "Correct the key or value as the message says, or print the scenario with all its keys."
    "iosonar sim array.toml --explain" }
Unstable = "E026" "the offered load exceeds the capacity" {
    "More work arrives at a station than it can complete, so its queue grows without bound."
    "Response times would depend only on the length of the run."
    "Lower the rate, or add disks. --unstable simulates the scenario anyway."
    "iosonar plan array.toml --target 'p99 < 20ms'" }
ValueWrong = "E027" "the value of a key is wrong" {
    "The message shows the line, the value and what was expected."
    "Nothing was simulated."
    "Correct the value."
    "iosonar sim array.toml --set load.rate=100" }
ScenarioIncomplete = "E028" "a scenario is incomplete" {
    "A table or key that has no default is missing."
    "Nothing was simulated."
    "Add the table or key that the message names."
    "[load]\nrate = 100\nrequests = 100000" }
NoWarmup = "E029" "a run is too short to find the end of its warm-up" {
    "With warmup_requests = \"auto\", the simulation looks for the point after which response times no longer change systematically."
    "A short run has too few requests to find this point."
    "Simulate more requests, or set warmup_requests to a number."
    "iosonar sim array.toml --set load.requests=1000000" }
NoRequests = "E030" "there are no requests to simulate" {
    "The trace or the selected part of it is empty, or all requests lie beyond the end of the array."
    "A simulation without requests has no result."
    "Check the time span of the trace and its highest sector. --fit moves requests onto the array."
    "iosonar info web.load" }
NothingMeasured = "E031" "no request was measured" {
    "Every request belongs to the warm-up, failed, or has no response time."
    "There are no times to report."
    "Simulate more requests, or exclude fewer of them."
    "iosonar sim array.toml --set load.requests=100000" }
GeometryWrong = "E032" "an array cannot be built as described" {
    "The number of disks, the level and the stripe unit contradict each other."
    "Nothing was simulated."
    "Change the array as the message says. RAID 5, for example, needs at least 3 disks."
    "iosonar sim array.toml --set array.disks=4" }
ProfileWrong = "E033" "a device profile is invalid" {
    "The message names the file or the built-in profile, the key and what was expected."
    "Nothing was simulated."
    "Correct the key, or use a built-in profile."
    "iosonar profiles" }
ResultsUnwritable = "E034" "results cannot be written" {
    "The operating system refused to write the file."
    "The results for this file are lost."
    "Check the folder, its permissions and free space."
    "df -h ." }
IsNetworked = "E035" "a networked system was given as a scenario" {
    "A file with a table [central] or [jobs] describes jobs in a network of servers, not requests to an array."
    "Nothing was simulated."
    "Use model, which also simulates with --with-sim, or plan."
    "iosonar model examples/networked-raid/paper.toml --with-sim" }
NotASystem = "E036" "a name stands for neither a file nor a system" {
    "There is no file of this name. A system is a level, a number of devices and their profile, or a profile alone, with changes after a +."
    "Nothing was simulated."
    "Correct the part that the message names. 'iosonar profiles' lists the profiles."
    "iosonar sim raid5:6xexos-x18+cache=1GiB --trace web.load" }
TargetRefused = "E040" "a target is refused" {
    "The device or file may hold data, is in use, is read-only, or is of an unexpected kind. The message shows which."
    "A replay that writes destroys the data on its target."
    "Choose another target, or name the device with --destroy if its contents may be lost."
    "iosonar targets" }
TargetIo = "E041" "a target cannot be used" {
    "The operating system refused to open, examine or use the device or file."
    "The replay or recording did not start, or it stopped here."
    "Check the path and the permissions: devices usually need root or the group 'disk'."
    "iosonar targets" }
NothingToPlan = "E042" "the target or the scenario leaves nothing to plan" {
    "The target applies to requests that the load does not contain, such as reads, or the scenario has no load that \
     can be varied."
    "No plan was computed."
    "Change the target, or the scenario."
    "iosonar plan array.toml --target 'read p99 < 20ms'" }
RecordingRefused = "E043" "recording is not possible" {
    "The kernel's tracepoints are not available, not permitted, or already in use."
    "Nothing was recorded."
    "Run 'iosonar doctor' to see what is missing."
    "iosonar doctor" }
CalibrationRefused = "E044" "a profile cannot be fitted" {
    "The records have too few requests with measured latencies, or the fit started from a profile of the wrong kind."
    "No profile was written."
    "Record a longer run, or start from a profile of the same kind of drive."
    "iosonar calibrate run.ios --profile seagate-st3500630ns -o mine.toml" }
SweepRefused = "E045" "a sweep cannot run" {
    "The study file is invalid, or its folder belongs to another study."
    "No run was started."
    "Correct the study file as the message says, or use another folder."
    "iosonar sweep study.toml --dry-run" }
HostNotReady = "E046" "a host is not ready for a replay" {
    "The host cannot be reached, has another version of iosonar, or refuses its target. The message names each such host and the reason."
    "Nothing was started on any host."
    "Check that 'ssh HOST iosonar -V' asks for no password and prints the same version as on this machine, and that the target can be used there."
    "ssh node1 iosonar targets" }
OutOfMemory = "E047" "there is not enough memory" {
    "A simulation needs more than 900 MiB before its first request, more memory than is free afterwards, or more than --memory allows. The queue of an overloaded system and the mapping tables of SSDs grow with the requests."
    "The simulation was refused or stopped, and has no result. Files of earlier scenarios of the same command are complete."
    "Lower the load or the number of requests, simulate fewer systems at once (--threads), or give a larger --memory."
    "iosonar sim array.toml --memory 16GiB" }
}
