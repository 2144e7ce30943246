//! What deserves attention although work goes on.

use super::messages;

messages! {
/// Warnings.
Warning:
RowsSkipped = "W001" "rows of a trace were skipped" {
    "Some rows could not be read, and --lenient skips such rows and counts them."
    "The load is smaller than the recorded one. A few damaged rows hardly change a result; many mean that the format was recognised wrongly."
    "Look at the first skipped row, which the warning shows. If most rows are affected, name the format with --format."
    "iosonar info web.csv --lenient --format msr" }
LastRowCut = "W002" "the last row has no line end and was accepted" {
    "The file ends in the middle of a line, so that the last value may be the beginning of a longer one."
    "The last request may have a wrong size or place, and requests after it are missing."
    "Copy the file again. If it is complete, append a line end."
    "echo >> web.load" }
FileCutOff = "W003" "the file stops before its end" {
    "The file or its compressed data are truncated, or the program that wrote it was killed. --lenient read the part that exists."
    "Everything after that place is missing: rates and counts are those of the first part only."
    "Fetch the file again, or state results for the recorded time only."
    "iosonar info web.load.gz --lenient" }
FileNotRenamed = "W004" "the file is complete but has a temporary name" {
    "A file whose name ends in .part is one that its writer did not finish. This one has an end mark, so that nothing is missing."
    "The records are whole, but other programs will not find them under the intended name."
    "Rename the file."
    "mv run.ios.part run.ios" }
BlocksDamaged = "W005" "blocks of an .ios file were left out" {
    "A checksum does not match, or a block is truncated; --lenient leaves such blocks out."
    "Each block holds up to some thousands of requests, which are missing."
    "Fetch the file again, and check the disk that it is on."
    "iosonar info run.ios --lenient" }
RangesWidened = "W006" "byte ranges were widened to whole sectors" {
    "Offsets or lengths are not multiples of 512 bytes, and '--round out' widens them."
    "Such requests come from a layer above the block device. A replay moves slightly more data than was recorded."
    "Nothing, if the trace is one of files or of a network. Otherwise check the unit of the columns."
    "iosonar convert files.csv --round out -o files.ios" }
NotSubmitted = "W007" "requests that were never submitted are left out" {
    "The recording holds requests that its replay skipped or dropped. They never reached the device."
    "They have no latency. Whether they belong to the load depends on the question."
    "Nothing, to study what the device did; --include-skipped, to study the intended load."
    "iosonar analyze run.ios --include-skipped" }
RowsUnanswered = "W008" "rows without a type of request were left out" {
    "In this data set, requests that were never answered have no type."
    "They cannot be replayed. Their share is usually far below 1 %."
    "Nothing, unless the share is large."
    "iosonar info systor.csv.gz" }
EventsLost = "W009" "the recording lost events" {
    "The kernel's buffers were full, so that events were dropped while recording."
    "Requests without a completion, or completions without a request, follow; rates are too low."
    "Record again with larger buffers, and write to a disk that is not recorded."
    "iosonar record /dev/sdb -o day.ios --buffer 64MiB" }
IdenticalInFlight = "W010" "identical requests were in flight at the same time" {
    "The kernel's events do not show which completion belongs to which of two identical requests; they are paired first in, first out."
    "Single latencies may be exchanged between the two. The mean is not affected."
    "Nothing."
    "iosonar info trace.blktrace.0" }
NoStartEvent = "W011" "completions had no start event" {
    "The request began before the recording, or its event was lost."
    "These requests are left out. A handful at the beginning is normal."
    "Nothing, unless they occur throughout; then record with larger buffers."
    "iosonar record /dev/sdb -o day.ios --buffer 64MiB" }
NoCompletionEvent = "W012" "requests had no completion" {
    "The request was in flight when the recording ended, or its event was lost."
    "Such requests are part of the load but have no latency, and slow ones are the likeliest to be cut off."
    "Nothing, for a handful at the end. Otherwise record longer, or with larger buffers."
    "iosonar record /dev/sdb -o day.ios --duration 1h" }
EventsTooEarly = "W013" "events were earlier than the first one" {
    "Events of several processors were merged out of order, and these lie before time zero."
    "They are left out."
    "Merge the files of all processors with the recording tool's own program first."
    "blkparse -i sdb -d sdb.bin" }
CommandsWithoutData = "W014" "drive commands without data were left out" {
    "The trace holds commands that move no data, such as inquiries."
    "They are neither reads nor writes and cannot be replayed."
    "Nothing."
    "iosonar info sdb.bin" }
TextAboveHeader = "W015" "text above a repeated header was skipped" {
    "The file was put together from several, each with its own header and remarks."
    "No request is lost, but times may begin anew in each part."
    "Check with 'iosonar info' that the time span is the expected one."
    "iosonar info all.load" }
LoadShifted = "W016" "the load goes back in time and was shifted" {
    "A request starts before the previous one. '--on-backstep shift' moves the rest of the load so that it does not."
    "The load becomes longer than it was, and its rate lower."
    "Sort the trace instead, if it is the records of a replay or simulation, which are in the order of completion."
    "iosonar convert run.ios --sort -o run.load" }
RequestsEmptied = "W017" "requests would have become empty" {
    "A resize made requests smaller than one sector; they were set to one sector."
    "The amount of data does not shrink by the factor asked for."
    "Use a larger factor, or a minimum length."
    "iosonar convert a.load --resize 0.5 -o b.load" }
LoadFitted = "W018" "the load was changed to fit its target" {
    "Requests beyond the end of the target were wrapped, moved, cut, left out or scaled, as the message says."
    "Distances between requests change, and so do seek times and cache hits."
    "Use a larger target, or state how the load was fitted along with the result."
    "iosonar sim array.toml --trace web.load --set array.disks=8" }
SyncSuits = "W020" "synchronous calls replace io_uring" {
    "The driver completes requests while they are submitted, and does not support NOWAIT. With io_uring, each request would be passed to a kernel worker."
    "Latencies would include that detour."
    "Nothing: the choice is the better one. '--engine io_uring' overrides it."
    "iosonar replay web.load --target /dev/ram0 --engine io_uring" }
NoRing = "W021" "io_uring is not available" {
    "The kernel has no io_uring, or it is switched off, so that threads submit the requests."
    "Each request costs more processor time, so that the highest rate is lower."
    "Allow io_uring; 'iosonar doctor' shows what is missing."
    "sysctl kernel.io_uring_disabled=0" }
OneEngineForAll = "W022" "one engine is used for targets that need different ones" {
    "A replay on several targets uses one engine. Synchronous calls would suit some of the targets better."
    "Their latencies include a detour through kernel workers."
    "Replay on each kind of target separately."
    "iosonar replay a.load --target /dev/ram0" }
OptionsUnused = "W023" "options of io_uring had no effect" {
    "The engine was chosen automatically, and it was not io_uring."
    "The replay did not run as the command line asks."
    "Name the engine, or leave the options out."
    "iosonar replay a.load --target /dev/sdb --engine io_uring" }
FewerInFlight = "W024" "the memory for buffers limits the requests in flight" {
    "Each request in flight needs a buffer as long as the longest request of the load, and --buffer-memory does not hold enough of them."
    "Requests wait for a buffer before they are submitted, which counts as delay, not as latency."
    "Raise --buffer-memory."
    "iosonar replay a.load --target /dev/sdb --buffer-memory 1GiB" }
BuffersNotLocked = "W025" "the kernel refused to lock the buffers" {
    "Registered buffers must stay in memory, and the limit for locked memory is too low."
    "Each request costs some more processor time. Results are valid."
    "Raise the limit."
    "ulimit -l unlimited" }
NvmeFailed = "W026" "NVMe commands failed" {
    "The device answered with an error status, which the message shows."
    "Failed requests have no latency and are not part of the quantiles."
    "Look the status up; if it is a media error, the device is failing."
    "nvme smart-log /dev/nvme0" }
KernelWorkers = "W027" "requests went through kernel workers" {
    "The driver would have blocked on submission, so that io_uring passed requests to worker threads."
    "Latencies include that detour of some microseconds."
    "Use synchronous calls, if microseconds matter."
    "iosonar replay a.load --target /dev/sdb --engine sync" }
BeganLate = "W028" "the replay started after the requested time zero" {
    "Preparing took longer than the time until the start that was asked for."
    "Replays that should run side by side are shifted by that much."
    "Choose a later start."
    "iosonar replay a.load --target /dev/sdb" }
NotPinned = "W029" "a thread could not be pinned to its processors" {
    "The kernel refused the processors that were named."
    "The thread may be moved between processors, which costs some microseconds now and then."
    "Name processors that exist and that the container may use."
    "taskset -p $$" }
RealTimeLimited = "W030" "a real-time priority would be dangerous here" {
    "RLIMIT_RTTIME makes the kernel kill a real-time thread that computes for too long without sleeping. A replay that falls behind does."
    "Without the priority, other programs may delay requests."
    "Remove the limit."
    "ulimit -R unlimited" }
PriorityRefused = "W031" "a scheduling priority was refused" {
    "The kernel does not allow this user a real-time or raised priority."
    "While other programs run, requests may start late. The start delays of the replay show whether they did."
    "Run as root, grant CAP_SYS_NICE, or raise the limits; on an idle machine, nothing."
    "ulimit -r 1" }
ProcessorsContended = "W032" "other programs competed for the processors" {
    "Threads that serve the device in the kernel had to wait for a processor."
    "Latencies may include that wait, which is not the device's."
    "Replay on an idle machine, or leave processors to the kernel."
    "uptime" }
WrittenByOthers = "W033" "another process may write to the target" {
    "The target that is read is open for writing elsewhere."
    "That process's I/O competes with the replay, and the result is not the device's alone."
    "Stop the process that the message names, or unmount the file system."
    "iosonar targets" }
SeenByOthers = "W034" "another process will see the data written" {
    "The target is open in another process while the replay writes to it."
    "That process reads test data where its own was."
    "Stop that process, or choose another target."
    "iosonar targets" }
OpenElsewhere = "W035" "the target is open elsewhere" {
    "A process of another user, or the kernel itself, has the target open; which one cannot be seen."
    "Its I/O, if there is any, affects the measurement."
    "Run as root to see the process, or choose another target."
    "sudo iosonar targets" }
OpenedByAnother = "W036" "another process wanted to open the target" {
    "It had to wait while the replay held the target exclusively."
    "It may use the device from now on."
    "Check what it is before the next replay."
    "fuser -v /dev/sdb" }
SettingLost = "W037" "a queue setting was changed during the replay" {
    "Another process, such as a second replay on the same disk, changed the scheduler or merging of the queue."
    "Only a part of the replay ran with the setting that was asked for."
    "Repeat it while nothing else changes the queue."
    "cat /sys/block/sdb/queue/scheduler" }
RequestsMerged = "W038" "the kernel merged requests" {
    "Requests for adjacent sectors were joined before the device saw them."
    "The device received fewer and longer requests than the load has."
    "Forbid merging, to measure the load as it is."
    "iosonar replay a.load --target /dev/sdb --merges forbid" }
DeviceDidMore = "W039" "the device did more requests than were submitted" {
    "The kernel split long requests or repeated failed ones, or another process used the device."
    "Latencies of long requests are those of all their parts; foreign I/O makes all of them longer."
    "Check for other users of the device, and the longest request that it takes at once."
    "cat /sys/block/sdb/queue/max_sectors_kb" }
TablesLost = "W040" "the log of verification is not complete" {
    "Writing the log of what was written failed."
    "'iosonar verify' cannot check the data that the rest of the replay wrote."
    "Make room on the disk of the log, and replay again."
    "iosonar replay a.load --target /dev/sdb --keep-tables /var/tmp/log" }
FinalPassLeftOut = "W041" "the final verification was skipped" {
    "The replay was interrupted, so that the data written were not read again."
    "Damage in data that the replay itself did not read is not found."
    "Let the replay end, or check the target with 'iosonar verify'."
    "iosonar verify --help" }
FinalPassInterrupted = "W042" "the final verification was interrupted" {
    "Only a part of the data written was read again."
    "Damage in the rest is not found."
    "Let it end, or check the target with 'iosonar verify'."
    "iosonar verify --help" }
SettingOfEarlier = "W043" "an earlier replay left a queue setting behind" {
    "A replay that was killed could not restore the queue's scheduler or merging. The message says whether that was done now."
    "Without it, the disk would stay slower or differ from its usual setting."
    "Nothing, if it was restored; otherwise run the command in the message."
    "cat /sys/block/sdb/queue/nomerges" }
SettingNotSaved = "W044" "the original queue setting cannot be saved" {
    "If this replay is killed, the next one will not know the original setting."
    "The queue would keep the replay's setting until it is set again."
    "Note the value in the message."
    "echo mq-deadline > /sys/block/sdb/queue/scheduler" }
SettingNotRestored = "W045" "a queue setting could not be restored" {
    "The queue of the disk keeps the setting of the replay."
    "Other programs may find the disk faster or slower than before."
    "Restore it as root."
    "echo 0 > /sys/block/sdb/queue/nomerges" }
CommonMode = "W046" "several targets replay the same load at the same time" {
    "The peaks of the load coincide on all targets."
    "What the targets share (a controller, a network) sees a burst that independent users would not cause."
    "Stagger the replays, unless that burst is the question."
    "iosonar replay a.load --target /dev/sdb --target /dev/sdc --delta 10s" }
DevicesUnmapped = "W047" "requests to some devices of the trace are left out" {
    "--map names a target for some devices of the trace only."
    "The replayed load is smaller than the recorded one."
    "Map every device, or select the wanted ones on purpose."
    "iosonar info trace.ios" }
WaitingForTarget = "W048" "the target is opened exclusively by another process" {
    "Another program holds the device; a replay that was just killed does so for a moment."
    "The replay begins once the device is free, or gives up after the time in the message."
    "Wait, or stop the other program."
    "fuser -v /dev/sdb" }
SpeedChanged = "W049" "a recorded load is replayed at another speed" {
    "The clients that were recorded waited for the storage before they continued. A replay at another speed does not model that."
    "At a higher speed queues grow longer than they would with real clients."
    "Read the result as an upper bound, or simulate a closed loop."
    "iosonar sim closed.toml" }
SpinningFifo = "W050" "busy waiting at a real-time priority stalls" {
    "The kernel stops real-time threads for 50 ms of each second."
    "Once a second, requests start up to 50 ms late."
    "Let the threads sleep, or use a normal priority."
    "iosonar replay a.load --target /dev/sdb --priority nice" }
TargetAdvice = "W051" "the target differs from what the load needs" {
    "The message compares the load with the target: its size, scheduler, write cache or contents."
    "The same load on another part of a disk, or with a cold cache, has other latencies."
    "Follow the option in the message, or state the condition along with the result."
    "iosonar replay a.load --target /dev/sdb --scheduler none" }
Fake = "W052" "the figures are not those of a device" {
    "Something answered in place of the device: holes of a file, memory, or an engine that does no I/O."
    "The latencies say nothing about storage."
    "Fill the target first, or use a real device."
    "iosonar targets" }
Verified = "W053" "contents were tagged or checked during the replay" {
    "Tagging and checking data takes processor time in the path of requests."
    "Latencies and rates are not comparable with those of a plain replay."
    "Measure in a separate replay, without --verify."
    "iosonar replay a.load --target /dev/sdb" }
RecordsStalled = "W054" "the replay waited for its records to be written" {
    "The disk or compressor for the records was slower than the replay."
    "Latencies during these waits may be too high."
    "Write the records to a faster disk, or as .ios."
    "iosonar replay a.load --target /dev/sdb -o /dev/shm/run.ios" }
OldSelfCheck = "W055" "a self-check of an earlier replay exists" {
    "The file next to the records describes another replay."
    "Charts of the new records would show the self-check of the earlier one."
    "Remove the file, or write a new one with --self-check."
    "iosonar replay a.load --target /dev/sdb -o run.ios --self-check" }
MayBeUnstable = "W060" "a station may be overloaded" {
    "The offered load of a station is known between two bounds, and the upper one is not below its capacity."
    "If the true value is above it, the queue only grows, and times depend on the length of the run."
    "Compare the throughput with the rate of arrivals, or lower the rate."
    "iosonar sim array.toml --set load.rate=100" }
Overloaded = "W061" "more requests arrive than are completed" {
    "The throughput is below the rate of arrivals over the whole run."
    "The queue only grows: the printed times would be longer in a longer run, and mean nothing by themselves."
    "Lower the rate, or add disks; 'iosonar plan' finds the highest rate that a target allows."
    "iosonar plan array.toml --target 'p99 < 20ms'" }
QueueGrows = "W062" "the queue was still growing at the end" {
    "A noticeable share of the requests was in the system when the load ended."
    "Throughput and times depend on the length of the run."
    "Simulate more requests; if the share stays, the system is overloaded."
    "iosonar sim array.toml --set load.requests=1000000" }
FirstOfUsers = "W063" "first requests dominate a closed loop" {
    "Each user's first request meets an empty system, and the run is short compared with the number of users."
    "Times are shorter than in the long run."
    "Raise load.requests, or leave the first requests out with warmup_requests."
    "iosonar sim closed.toml --set load.requests=100000" }
Deadlock = "W064" "requests were never served" {
    "At the end of the run, requests wait for something that does not come."
    "The results cover only the requests that completed."
    "Check limits such as buffers and queue depths in the scenario."
    "iosonar sim array.toml --explain" }
PrecisionNotReached = "W065" "the precision asked for was not reached" {
    "The number of replications is too small for the interval that --precision wants."
    "The mean is known less exactly than asked."
    "Allow more replications."
    "iosonar sim array.toml --precision 0.01 --replications 1000" }
GeometryAssumed = "W066" "the drive's geometry is assumed" {
    "The profile has no [geometry], so that one surface without skews is assumed, with zones derived from its transfer times."
    "Positioning times depend on the geometry, mostly those of sequential requests."
    "Add a [geometry] to the profile, or use a built-in one."
    "iosonar profiles" }
NotCleaned = "W067" "the flash was never cleaned" {
    "The run wrote less than the free space of the drive, so that no block had to be erased."
    "These are the times of a fresh drive; a drive in use is slower."
    "Give the drive a precondition."
    "iosonar sim ssd.toml --set ssd.flash.precondition=steady-state" }
SmallReach = "W068" "the load lies within a small part of the array" {
    "All requests lie within less than a tenth of the array."
    "Seeks are short, and caches may hold much of the data, so that times are shorter than with the data spread out."
    "Nothing, if the data will lie like that. Otherwise spread the load."
    "iosonar sim array.toml --trace web.load --scatter 1000000000,2048" }
PoorFit = "W070" "the fitted model does not match the device" {
    "On the half of the requests that was held out, the model's times differ clearly from the measured ones."
    "Predictions with this profile will be off by as much."
    "Calibrate with a recording without other activity, and with a variety of requests."
    "iosonar calibrate run.ios --profile seagate-st3500630ns -o mine.toml" }
WorseFit = "W071" "the new profile fits worse than the one before" {
    "On the held-out half, the previous profile predicts better than the fitted one."
    "The two halves of the recording differ, or there are too few requests."
    "Keep the previous profile, or calibrate with more requests."
    "iosonar calibrate longer.ios --profile mine.toml -o better.toml" }
ImplausibleLatency = "W072" "latencies of zero were left out" {
    "No request takes no time: the recording has no measured latency for these."
    "They would make the device look faster than it is."
    "Nothing, unless they are many; then check the units of the columns."
    "iosonar info run.csv" }
FlashNotFitted = "W073" "the flash parameters were not fitted" {
    "The recording does not show what the parameters need, such as a fall of throughput after the cache is full."
    "The profile keeps its previous values."
    "Record a longer run of writes."
    "iosonar generate --help" }
ParameterUnknown = "W074" "a parameter is not known to DiskSim" {
    "The name is misspelt, or belongs to another program."
    "It is ignored, so that the drive differs from what the file intends."
    "Correct the name."
    "iosonar import disksim drive.parv -o drive.toml" }
DefinedTwice = "W075" "a block is defined twice" {
    "Two blocks of the files have one name; the first is used."
    "The drive may be another one than intended."
    "Remove one of the two."
    "iosonar import disksim drive.parv --disk cheetah9LP" }
OtherSeekType = "W076" "a parameter belongs to another type of seek" {
    "The drive's seek type does not use this parameter."
    "It is ignored, as DiskSim does."
    "Nothing, or correct the seek type."
    "iosonar import disksim drive.parv -o drive.toml" }
SchedulerOfScenario = "W077" "the drive's own scheduler is not imported" {
    "Requests queued in the drive follow the scheduler of the scenario."
    "Results under load may differ from DiskSim's."
    "Set disk.scheduler in the scenario."
    "iosonar sim array.toml --set disk.scheduler=sptf" }
NoBus = "W078" "the time on the bus is not known" {
    "The files do not include the bus, so that only the bulk sector transfer time counts."
    "Short requests may come out a little too fast."
    "Add the file of the bus, or name the times."
    "iosonar import disksim drive.diskspecs --bus-read-ms 0.1" }
NoCompletions = "W080" "no completion was recorded" {
    "Requests were seen, but none completed: the device hangs, the recording was too short, or the driver has no tracepoint for completions."
    "The requests have no latencies."
    "Record longer; for such a driver, record a device below or above it."
    "iosonar record /dev/dm-0 -o day.ios" }
ChangesOnWantedOnly = "W082" "changes were applied to one of two traces" {
    "Options such as --from change WANTED only, since DONE is assumed to be a replay with the same options."
    "If it was not, all other requests count as extra."
    "Apply the changes to both."
    "iosonar check a.load run.ios --from 10s --both" }
MovedRequests = "W083" "a replay that fits its load moves requests" {
    "With --wrap, --fit or --clip, requests reach the device at other places or lengths."
    "They count as missing and extra although nothing is wrong."
    "Compare two replays with the same option."
    "iosonar check first.ios second.ios" }
SeveralDevices = "W084" "the records are of several devices" {
    "All requests of DONE are compared with WANTED, also if each device replayed all of it."
    "Most requests then count as extra."
    "Extract one device, and compare that."
    "iosonar convert run.ios --device sdb -o sdb.ios" }
NothingSelected = "W085" "the selection contains no requests" {
    "No request passes the filters, so that the output is empty."
    "What reads the output finds no load."
    "Check the times and kinds of the trace."
    "iosonar info a.load" }
DevicesMerged = "W086" "devices were merged into one" {
    "The output format has no column for devices."
    "Requests to the same sector of different devices look like one place."
    "Keep the devices apart, or write a format that holds them."
    "iosonar convert a.ios --split device -o out.load" }
NotRepresentable = "W087" "requests were left out: the format cannot hold them" {
    "The output format has no such operation or value."
    "The output is smaller than the input."
    "Write .ios, which holds everything."
    "iosonar convert a.csv -o a.ios" }
InputLeftOut = "W088" "an input was left out of the report" {
    "The file could not be read."
    "The page covers the other inputs only."
    "Correct the problem in the message, or remove the file."
    "iosonar info broken.ios" }
RunsChanged = "W090" "runs were done with other options" {
    "The folder has results of the same points, but of a different scenario or different options."
    "The tables mix both."
    "Repeat these runs."
    "iosonar sweep study.toml --repeat-changed" }
ResultDamaged = "W091" "a run's result is damaged" {
    "The file result.json of a run cannot be read."
    "The run is left out of tables and charts."
    "Run the sweep again: it repeats what has no result."
    "iosonar sweep study.toml" }
ChartUnknown = "W092" "a chart of the sweep names something unknown" {
    "A [[chart]] names a figure or parameter that no run has."
    "The chart is not drawn."
    "Choose one of the names in the message."
    "iosonar sweep study.toml --replot" }
NoTheory = "W093" "there is no theory of these response times" {
    "--theory draws the curve of a closed form, and none is known for this system."
    "The chart has simulated points only."
    "See which part is not covered."
    "iosonar model array.toml" }
}
