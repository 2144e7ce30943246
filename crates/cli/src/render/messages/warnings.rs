//! What deserves attention although work goes on.

use super::messages;

messages! {
/// Warnings.
Warning:
RowsSkipped = "W001" "rows of a trace were skipped" {
    "Some rows could not be read. --lenient skips and counts such rows."
    "The load is smaller than the recorded one. A few damaged rows hardly change a result. Many damaged rows suggest that the format was misidentified."
    "Check the first skipped row, which the warning shows. If most rows were skipped, name the format with --format."
    "iosonar info web.csv --lenient --format msr" }
LastRowCut = "W002" "the last row has no newline and was accepted" {
    "The file does not end with a newline, so its last value may be truncated."
    "The last request may have a wrong size or position, and requests after it may be missing."
    "Copy the file again. If the file is complete, append a newline."
    "echo >> web.load" }
FileCutOff = "W003" "the file ends too early" {
    "The file or its compressed data are truncated, or the program that wrote it was killed. \
     With --lenient, iosonar read the intact part."
    "Everything after the cut is missing, so rates and counts are those of the first part only."
    "Fetch the file again, or report results for the recorded time only."
    "iosonar info web.load.gz --lenient" }
FileNotRenamed = "W004" "the file is complete but has a temporary name" {
    "A name that ends in .part usually means that the writer did not finish the file. This file has an end mark, so nothing is missing."
    "The records are complete, but other programs will not find them under the intended name."
    "Rename the file."
    "mv run.ios.part run.ios" }
BlocksDamaged = "W005" "blocks of an .ios file were left out" {
    "The checksum of a block does not match, or a block is truncated. --lenient leaves such blocks out."
    "Each missing block contains up to several thousand requests."
    "Fetch the file again, and check the disk that holds it."
    "iosonar info run.ios --lenient" }
RangesWidened = "W006" "byte ranges were widened to whole sectors" {
    "Offsets or lengths are not multiples of 512 bytes, and '--round out' widens the ranges to whole sectors."
    "Such requests come from a layer above the block device. A replay moves slightly more data than was recorded."
    "If the trace was recorded in a file system or on a network, no action is needed. Otherwise check the unit of the \
     columns."
    "iosonar convert files.csv --round out -o files.ios" }
NotSubmitted = "W007" "requests that were never submitted are left out" {
    "The records contain requests that the replay skipped or dropped. They never reached the device."
    "They have no latency. Whether to include them depends on what you study."
    "No action is needed to study what the device did. To study the intended load, add --include-skipped."
    "iosonar analyze run.ios --include-skipped" }
RowsUnanswered = "W008" "rows without a request type were left out" {
    "In this data set, requests that were never answered have no type."
    "They cannot be replayed. Their share is usually far below 1 %."
    "No action is needed unless the share is large."
    "iosonar info systor.csv.gz" }
EventsLost = "W009" "the recording lost events" {
    "The kernel's buffers were full, and it dropped events during the recording."
    "Some requests have no completion, some completions have no request, and the reported rates are too low."
    "Record again with larger buffers, and save the trace to a disk that is not being recorded."
    "iosonar record /dev/sdb -o day.ios --buffer 64MiB" }
IdenticalInFlight = "W010" "identical requests were in flight at the same time" {
    "The kernel's events do not show which completion belongs to which of two identical requests. They are paired first in, first out."
    "The latencies of the two requests may be swapped. The mean is not affected."
    "No action is needed."
    "iosonar info trace.blktrace.0" }
NoStartEvent = "W011" "completions had no start event" {
    "The requests began before the recording did, or their start events were lost."
    "These requests are left out. A handful at the beginning is normal."
    "If they occur only at the beginning, no action is needed. Otherwise record with larger buffers."
    "iosonar record /dev/sdb -o day.ios --buffer 64MiB" }
NoCompletionEvent = "W012" "requests had no completion" {
    "The requests were in flight when the recording ended, or their completion events were lost."
    "Such requests are part of the load but have no latency. Slow requests are the most likely to lose their completion."
    "If only a few requests at the end are affected, no action is needed. Otherwise record longer, or with larger \
     buffers."
    "iosonar record /dev/sdb -o day.ios --duration 1h" }
EventsTooEarly = "W013" "events precede the first event of the file" {
    "Events of several processors were merged in the wrong order. The first event in the file defines \
     time zero, but some of the events after it are earlier."
    "These events are left out."
    "First merge the files of all processors with the recording tool's own program."
    "blkparse -i sdb -d sdb.bin" }
CommandsWithoutData = "W014" "commands without data were left out" {
    "The trace contains commands that transfer no data, such as INQUIRY, or 'generate like' has found discards or flushes."
    "They are neither reads nor writes. Commands of a drive cannot be replayed, and a generated load has only reads and writes."
    "No action is needed."
    "iosonar info sdb.bin" }
TextAboveHeader = "W015" "text above a repeated header was skipped" {
    "The file was joined from several files, each with its own header and remarks."
    "No request is lost, but times may start from zero in each part."
    "Check with 'iosonar info' that the time span is the expected one."
    "iosonar info all.load" }
LoadShifted = "W016" "start times went backwards, so the load was shifted" {
    "A request starts before the previous one. '--on-backstep shift' moves the rest of the load so that this request starts together with the previous one."
    "The load becomes longer than it was, and its rate lower."
    "If a replay or simulation wrote the trace, its records are in order of completion: sort them instead."
    "iosonar convert run.ios --sort -o run.load" }
RequestsEmptied = "W017" "requests would have become empty" {
    "A resize would have made requests shorter than one sector; they were resized to one sector."
    "The amount of data does not shrink by the given factor."
    "Use a larger factor, or set a minimum length in sectors, such as 8 in the example."
    "iosonar convert a.load --resize=0.5,8 -o b.load" }
LoadFitted = "W018" "the load was changed to fit its target" {
    "Requests beyond the end of the target were wrapped, moved, cut, left out or scaled. The message shows which."
    "Distances between requests change, and so do seek times and cache hits."
    "Use a larger target, or state how the load was fitted when you report the results."
    "iosonar sim array.toml --trace web.load --set array.disks=8" }
SyncSuits = "W020" "synchronous calls are used instead of io_uring" {
    "The driver completes requests during submission, and does not support NOWAIT. With io_uring, each request would be passed to a kernel worker."
    "Latencies would include the detour through the worker."
    "No action is needed. Synchronous calls are the better choice here; '--engine io_uring' overrides this choice."
    "iosonar replay web.load --target /dev/ram0 --engine io_uring" }
NoRing = "W021" "io_uring is not available" {
    "The kernel has no io_uring, or it is switched off. Threads submit the requests instead."
    "Each request costs more processor time, so the highest rate is lower."
    "Allow io_uring; 'iosonar doctor' shows what is missing."
    "sysctl kernel.io_uring_disabled=0" }
OneEngineForAll = "W022" "one engine is used for targets that suit different engines" {
    "A replay on several targets uses one engine. Synchronous calls would suit some of the targets better."
    "The latencies of those targets include a detour through kernel workers."
    "Replay on each kind of target separately."
    "iosonar replay a.load --target /dev/ram0" }
OptionsUnused = "W023" "options of io_uring had no effect" {
    "The replay chose its engine automatically, and did not choose io_uring."
    "The replay ignored these options."
    "Select io_uring with --engine, or remove the options."
    "iosonar replay a.load --target /dev/sdb --engine io_uring" }
FewerInFlight = "W024" "the memory for buffers limits the requests in flight" {
    "Each request in flight needs a buffer as long as the longest request of the load, and --buffer-memory does not hold enough of them."
    "Requests wait for a buffer before they are submitted, which counts as delay, not as latency."
    "Raise --buffer-memory."
    "iosonar replay a.load --target /dev/sdb --buffer-memory 1GiB" }
BuffersNotLocked = "W025" "the kernel refused to lock the buffers" {
    "Registered buffers must stay in memory, and the limit for locked memory is too low."
    "Each request costs slightly more processor time. The results remain valid."
    "Raise the limit."
    "ulimit -l unlimited" }
NvmeFailed = "W026" "NVMe commands failed" {
    "The device answered with an error status, which the message shows."
    "Failed requests have no latency and are not part of the quantiles."
    "Look up the status. If it is a media error, the device is failing."
    "nvme smart-log /dev/nvme0" }
KernelWorkers = "W027" "requests went through kernel workers" {
    "The driver would have blocked on submission, so io_uring passed requests to worker threads."
    "Latencies include a detour of several microseconds."
    "If microseconds matter, use synchronous calls."
    "iosonar replay a.load --target /dev/sdb --engine sync" }
BeganLate = "W028" "the replay started later than requested" {
    "The preparation was not finished at the requested start time."
    "Replays that should run at the same time are out of step by this delay."
    "Choose a later start time."
    "iosonar replay a.load --target /dev/sdb" }
NotPinned = "W029" "a thread could not be pinned to its processors" {
    "The kernel refused the given processors."
    "The kernel may move the thread between processors, which occasionally costs several microseconds."
    "Choose processors that exist and that the container may use."
    "taskset -p $$" }
RealTimeLimited = "W030" "the kernel could kill a thread with a real-time priority" {
    "RLIMIT_RTTIME makes the kernel kill a real-time thread that runs for too long without sleeping. A replay that falls behind does not sleep."
    "Without a real-time priority, other programs may delay requests."
    "Remove the limit."
    "ulimit -R unlimited" }
PriorityRefused = "W031" "a scheduling priority was refused" {
    "The kernel does not allow this user a real-time or raised priority."
    "While other programs run, requests may start late. The start delays of the replay show whether they did."
    "Run as root, grant CAP_SYS_NICE, or raise the limits. On an idle machine, no action is needed."
    "ulimit -r 1" }
ProcessorsContended = "W032" "other programs competed for the processors" {
    "Kernel threads that serve the device had to wait for a processor."
    "Latencies may include this wait, for which the device is not responsible."
    "Replay on an idle machine, or leave some processors free for the kernel."
    "uptime" }
WrittenByOthers = "W033" "another process may write to the target" {
    "The replay reads a target that another process has opened for writing."
    "The I/O of that process competes with the replay and changes the latencies."
    "Stop the process that the message names, or unmount the file system."
    "iosonar targets" }
SeenByOthers = "W034" "another process will see the data that the replay writes" {
    "The target is open in another process while the replay writes to it."
    "That process will read test data instead of its own."
    "Stop that process, or choose another target."
    "iosonar targets" }
OpenElsewhere = "W035" "the target is open elsewhere" {
    "A process of another user, or the kernel itself, has the target open. Your permissions do not allow iosonar to see which one."
    "Any I/O of that process or of the kernel affects the measurement."
    "Run as root to see the process, or choose another target."
    "sudo iosonar targets" }
OpenedByAnother = "W036" "another process tried to open the target" {
    "The process had to wait while the replay had exclusive access to the target."
    "It may use the device from now on."
    "Identify the process before the next replay."
    "fuser -v /dev/sdb" }
SettingLost = "W037" "a queue setting was changed during the replay" {
    "Another process, such as a second replay on the same disk, changed the queue's scheduler or merge setting."
    "Only part of the replay ran with the requested setting."
    "Repeat the replay while no other process changes the queue."
    "cat /sys/block/sdb/queue/scheduler" }
RequestsMerged = "W038" "the kernel merged requests" {
    "Requests for adjacent sectors were joined before the device saw them."
    "The device received fewer but larger requests than the load contains."
    "To measure the requests unmerged, add --merges forbid."
    "iosonar replay a.load --target /dev/sdb --merges forbid" }
DeviceDidMore = "W039" "the device performed more requests than were submitted" {
    "The kernel split long requests or repeated failed ones, or another process used the device."
    "The latency of a split request covers all its parts. I/O of another process increases all latencies."
    "Check whether another process uses the device, and whether requests exceed the device's maximum length."
    "cat /sys/block/sdb/queue/max_sectors_kb" }
TablesLost = "W040" "the log for the verification is incomplete" {
    "The log of the replay's writes could not be written."
    "'iosonar verify' cannot check the data that the rest of the replay wrote."
    "Free some space on the disk that holds the log, and replay again."
    "iosonar replay a.load --target /dev/sdb --keep-tables /var/tmp/log" }
FinalPassLeftOut = "W041" "the final verification was skipped" {
    "The replay was interrupted before it could read the written data back."
    "Only data that the replay itself read has been checked for damage."
    "Let the replay finish, or check the target with 'iosonar verify'."
    "iosonar verify --help" }
FinalPassInterrupted = "W042" "the final verification was interrupted" {
    "Only part of the written data was read back."
    "The rest has not been checked for damage."
    "Let the verification finish, or check the target with 'iosonar verify'."
    "iosonar verify --help" }
SettingOfEarlier = "W043" "an earlier replay left a queue setting behind" {
    "A replay that was killed could not restore the queue's scheduler or merging. The message shows whether the setting has been restored now."
    "If the setting is not restored, the disk may be slower than usual."
    "If the setting was restored, no action is needed. Otherwise run the command in the message."
    "cat /sys/block/sdb/queue/nomerges" }
SettingNotSaved = "W044" "the original queue setting cannot be saved" {
    "If this replay is killed, the next replay cannot restore the original setting."
    "The queue would then keep the replay's setting until you change it."
    "Write down the original value, which the message shows."
    "echo mq-deadline > /sys/block/sdb/queue/scheduler" }
SettingNotRestored = "W045" "a queue setting could not be restored" {
    "The queue of the disk keeps the setting of the replay."
    "Other programs may find the disk faster or slower than before."
    "Restore the setting as root."
    "echo 0 > /sys/block/sdb/queue/nomerges" }
CommonMode = "W046" "several targets replay the same load at the same time" {
    "The peaks of the load coincide on all targets."
    "Components that the targets share, such as a controller or a network, see a burst that independent users would not cause."
    "Stagger the replays with --delta, unless you want to study this burst."
    "iosonar replay a.load --target /dev/sdb --target /dev/sdc --delta 10s" }
DevicesUnmapped = "W047" "requests to some devices of the trace are left out" {
    "--map names targets for only some of the devices in the trace."
    "The replayed load is smaller than the recorded one."
    "Map every device, or select the devices that you need with --device."
    "iosonar info trace.ios" }
WaitingForTarget = "W048" "another process has opened the target exclusively" {
    "Only one process at a time can open the device exclusively. A replay that was killed a moment ago may still hold \
     it."
    "The replay begins as soon as the device is free, or gives up after the time in the message."
    "Wait, or stop the other process."
    "fuser -v /dev/sdb" }
SpeedChanged = "W049" "a recorded load is replayed at another speed" {
    "The recorded clients waited for the storage before they continued. A replay at another speed does not model that."
    "At a higher speed, queues grow longer than they would with real clients."
    "Treat the result as an upper bound, or simulate a closed loop."
    "iosonar sim closed.toml" }
SpinningFifo = "W050" "busy waiting at a real-time priority is interrupted" {
    "The kernel stops real-time threads for 50 ms of each second."
    "Once a second, requests start up to 50 ms late."
    "Let the threads sleep, or use a normal priority."
    "iosonar replay a.load --target /dev/sdb --priority nice" }
TargetAdvice = "W051" "a condition of the replay influences the results" {
    "The message names the condition: the part of the target that the load uses, the I/O scheduler, a volatile write \
     cache, the CPU frequency governor, or a short run."
    "Under other conditions, such as on another part of a disk or without a write cache, the same load has different \
     latencies."
    "Use the option that the message suggests, or report this condition together with the result."
    "iosonar replay a.load --target /dev/sdb --scheduler none" }
Fake = "W052" "the results do not describe a real device" {
    "The requests did not reach a device: they were answered by holes in a file, by memory, or by an engine that performs no I/O."
    "The latencies say nothing about storage."
    "Fill the target first, or use a real device."
    "iosonar targets" }
Verified = "W053" "contents were tagged or checked during the replay" {
    "Tagging and checking data takes processor time while requests are submitted and completed."
    "Latencies and rates are not comparable with those of a replay without verification."
    "Measure in a separate replay, without --verify."
    "iosonar replay a.load --target /dev/sdb" }
RecordsStalled = "W054" "the replay waited for its records to be written" {
    "Compressing the records or writing them to disk was slower than the replay."
    "Latencies during these waits may be too high."
    "Write the records to a faster disk, or as .ios."
    "iosonar replay a.load --target /dev/sdb -o /dev/shm/run.ios" }
OldSelfCheck = "W055" "a self-check file of an earlier replay exists" {
    "The self-check file next to the records describes another replay."
    "Charts of the new records would show the self-check of the earlier one."
    "Remove the file, or overwrite it with --self-check."
    "iosonar replay a.load --target /dev/sdb -o run.ios --self-check" }
HostLost = "W056" "a host was lost during a replay" {
    "The connection to the host ended, the host did not answer within --host-timeout, or its replay ended early. The \
     message shows the reason."
    "Requests of this host that have no record count as not done, although some of them may have been completed. The \
     other hosts continue, with less load on shared storage than planned."
    "Check the host and the network, and repeat the replay."
    "iosonar replay a.load --hosts n1:/dev/sdb,n2:/dev/sdb --host-timeout 30s" }
MayBeUnstable = "W060" "a station may be overloaded" {
    "Only bounds on the offered load of a station are known, and the upper bound reaches or exceeds the capacity."
    "If the load exceeds the capacity, the queue keeps growing, and response times depend on the length of the run."
    "Compare the throughput with the arrival rate, or lower the rate."
    "iosonar sim array.toml --set load.rate=100" }
Overloaded = "W061" "more requests arrive than are completed" {
    "Over the whole run, the throughput is below the arrival rate."
    "The queue keeps growing. The printed times would be longer in a longer run, so they mean nothing on their own."
    "Lower the rate, or add disks; 'iosonar plan' finds the highest rate that a target allows."
    "iosonar plan array.toml --target 'p99 < 20ms'" }
QueueGrows = "W062" "the queue was still growing at the end" {
    "Many of the requests were still in the system when the load ended."
    "Throughput and times depend on the length of the run."
    "Simulate more requests. If the share remains the same, the system is overloaded."
    "iosonar sim array.toml --set load.requests=1000000" }
FirstOfUsers = "W063" "first requests dominate the results of a closed loop" {
    "Each user's first request arrives at an idle system, and the run is short compared with the number of users."
    "Response times are shorter than they would be in a longer run."
    "Raise load.requests, or exclude the first requests with warmup_requests."
    "iosonar sim closed.toml --set load.requests=100000" }
Deadlock = "W064" "requests were never served" {
    "At the end of the run, requests were waiting for an event that could no longer happen."
    "The results cover only the requests that completed."
    "Check limits such as buffers and queue depths in the scenario."
    "iosonar sim array.toml --explain" }
PrecisionNotReached = "W065" "the requested precision was not reached" {
    "The maximum number of replications is too small for the interval that --precision requires."
    "The mean is known less precisely than requested."
    "Allow more replications."
    "iosonar sim array.toml --precision 0.01 --replications 1000" }
GeometryAssumed = "W066" "the drive's geometry is assumed" {
    "The profile has no [geometry]. One surface without skews is assumed, with zones derived from the profile's transfer times."
    "Positioning times depend on the geometry, especially those of sequential requests."
    "Add a [geometry] to the profile, or use a built-in one."
    "iosonar profiles" }
NotCleaned = "W067" "the flash was not cleaned as in a longer run" {
    "Fewer pages were erased than programmed, as the drive had free ones to use up."
    "Writes are faster than they will be in a longer run, in which each programmed page takes the erase of another."
    "Set a precondition, so that the drive starts as if it had been in use, and raise warmup_requests and load.requests."
    "iosonar sim ssd.toml --set ssd.flash.precondition=steady-state" }
SmallReach = "W068" "the load lies within a small part of the array" {
    "All requests lie within less than a tenth of the array."
    "Seeks are short, and caches may hold much of the data. Response times are therefore shorter than if the data were spread out."
    "If the real data will lie this close together, no action is needed. Otherwise spread the load with --scatter."
    "iosonar sim array.toml --trace web.load --scatter 1000000000,2048" }
CacheFills = "W069" "the cache filled during the run" {
    "The dirty data in the write-back cache grew by much of what was written."
    "The writes that filled the cache did not wait for the disks. Once it is full, writes do, and the disks may be too slow for \
     the load."
    "Simulate more requests, until as much leaves the cache as enters it, or begin to measure with a full cache: raise \
     warmup_requests."
    "iosonar sim array.toml --set load.requests=1000000" }
PoorFit = "W070" "the fitted model does not match the device" {
    "For the held-out half of the requests, the model's times differ clearly from the measured ones."
    "Predictions with this profile will have errors of the same size."
    "Calibrate with a recording of many different requests, whose arrival times do not depend on completions as those of a \
     closed loop do, made while nothing else used the device."
    "iosonar calibrate run.ios --profile seagate-st3500630ns -o mine.toml" }
WorseFit = "W071" "the new profile fits worse than the previous one" {
    "For the held-out half, the previous profile predicts better than the fitted one."
    "The two halves of the recording differ, or there are too few requests."
    "Keep the previous profile, or calibrate with more requests."
    "iosonar calibrate longer.ios --profile mine.toml -o better.toml" }
ImplausibleLatency = "W072" "latencies of zero were left out" {
    "No request completes in zero time, so the latencies of these requests were not measured."
    "If they were included, the device would look faster than it is."
    "A few such requests need no action. If there are many, check the units of the columns."
    "iosonar info run.csv" }
FlashNotFitted = "W073" "the flash parameters were not fitted" {
    "The recording lacks something that the fit needs, such as a drop in throughput when the cache is full."
    "The profile keeps its previous values."
    "Record a longer run of writes."
    "iosonar generate --help" }
ParameterUnknown = "W074" "a parameter is not known to DiskSim" {
    "The name of the parameter is misspelt, or the parameter belongs to another program."
    "The parameter is ignored, so the drive may differ from what the author of the file intended."
    "Correct the name."
    "iosonar import disksim drive.parv -o drive.toml" }
DefinedTwice = "W075" "a block is defined twice" {
    "Two blocks in the files have the same name. The first one is used."
    "The imported drive may not be the intended one."
    "Remove one of the two blocks."
    "iosonar import disksim drive.parv --disk cheetah9LP" }
OtherSeekType = "W076" "a parameter belongs to another seek type" {
    "The drive's seek type does not use this parameter."
    "The parameter is ignored, as in DiskSim."
    "If the seek type is correct, no action is needed. Otherwise correct it."
    "iosonar import disksim drive.parv -o drive.toml" }
SchedulerOfScenario = "W077" "the drive's own scheduler is not imported" {
    "Requests queued in the drive are ordered by the scheduler that the scenario selects."
    "Results under load may differ from DiskSim's."
    "Set disk.scheduler in the scenario."
    "iosonar sim array.toml --set disk.scheduler=sptf" }
NoBus = "W078" "the bus transfer times are not known" {
    "The files do not describe the bus, so only the bulk sector transfer time is used."
    "The simulated times of short requests may be slightly too short."
    "Also give the file that describes the bus, or set the times with --bus-read-ms and --bus-write-ms."
    "iosonar import disksim drive.diskspecs --bus-read-ms 0.1" }
NearSaturation = "W079" "the runs are too short for a load this close to saturation" {
    "The busier a station is, the longer its queue depends on how it began. At this load it needs many more requests than \
     a run has."
    "The run begins with an empty queue, so its times may be too short, and a confidence interval would be wrong."
    "Simulate as many requests as the message asks for, use replications with a long warm-up, or lower the rate."
    "iosonar sim array.toml --set load.requests=1000000" }
NoCompletions = "W080" "no completion was recorded" {
    "Requests were recorded, but no completions. The device may be hanging, the recording may have been too short, or \
     the driver may have no tracepoint for completions."
    "The requests have no latencies."
    "Record longer. If the driver has no tracepoint for completions, record a device below or above it."
    "iosonar record /dev/dm-0 -o day.ios" }
ChangesOnWantedOnly = "W082" "changes were applied to only one of the two traces" {
    "Options such as --from change only WANTED, because DONE is assumed to be a replay with the same options."
    "If DONE is not such a replay, the requests of DONE that the options remove from WANTED count as extra."
    "Apply the changes to both traces with --both."
    "iosonar check a.load run.ios --from 10s --both" }
MovedRequests = "W083" "a replay with --wrap, --fit or --clip changes requests" {
    "These options change the positions or lengths of requests before they are submitted."
    "Such requests count as missing and extra although nothing is wrong."
    "Compare two replays that used the same option."
    "iosonar check first.ios second.ios" }
SeveralDevices = "W084" "the records come from several devices" {
    "The requests of all devices in DONE are compared with WANTED as one trace, even if each device replayed the whole \
     load."
    "Most requests then count as extra."
    "Extract the requests of one device with --device, and compare only those."
    "iosonar convert run.ios --device sdb -o sdb.ios" }
NothingSelected = "W085" "the selection contains no requests" {
    "No request matches the options that select a part of the load, so the output is empty."
    "Commands that read the output will find no requests."
    "Check the time span and the operations of the trace."
    "iosonar info a.load" }
DevicesMerged = "W086" "devices were merged into one" {
    "The output format has no column for devices."
    "Requests to the same sector of different devices look like requests to the same place."
    "Write one file per device, or choose a format with a column for devices."
    "iosonar convert a.ios --split device -o out.load" }
NotRepresentable = "W087" "requests were left out because the format cannot represent them" {
    "The output format cannot represent the operation or a value of these requests."
    "The output is smaller than the input."
    "Write .ios, which can hold all requests."
    "iosonar convert a.csv -o a.ios" }
InputLeftOut = "W088" "an input was left out of the report" {
    "The file could not be read."
    "The report covers only the other inputs."
    "Correct the problem that the message names, or remove the file."
    "iosonar info broken.ios" }
DevicesAsOne = "W089" "requests of several devices were simulated as those of one" {
    "The trace has requests to several devices, and the simulated system has one address space for all of them."
    "Data of different devices lie at the same addresses, and the system gets the load of all devices together."
    "Simulate each device separately with --device, or place them side by side first. An array for each device is \
     simulated with array.count."
    "iosonar sim array.toml --trace day.ios --device sda" }
RunsChanged = "W090" "existing runs used a different scenario or different options" {
    "The folder contains results for the same points, but they were computed with a different scenario or with different options."
    "The tables mix old and new results."
    "Repeat these runs."
    "iosonar sweep study.toml --repeat-changed" }
ResultDamaged = "W091" "a run's result is damaged" {
    "The file result.json of a run cannot be read."
    "The run is left out of tables and charts."
    "Run the sweep again. It repeats runs without a result."
    "iosonar sweep study.toml" }
ChartUnknown = "W092" "a chart of the sweep names an unknown figure or parameter" {
    "A [[chart]] of the study file names a figure or parameter that occurs in no run."
    "The chart is not drawn."
    "Choose one of the names in the message."
    "iosonar sweep study.toml --replot" }
NoTheory = "W093" "queueing theory has no formula for these response times" {
    "--theory draws the curve of a closed-form solution, and none is known for this system."
    "The chart has only simulated points."
    "Run 'iosonar model' to see which part theory does not cover."
    "iosonar model array.toml" }
ParallelismUnknown = "W094" "the number of requests served at a time is not identifiable" {
    "While the recording was made, the queue depth hardly varied or was never low. Requests that are served together and \
     requests that wait for each other then have the same latencies."
    "The profile reproduces the recorded queue depth only. At lower depths, its latencies may be many times too long."
    "Record a load whose queue depth varies, which includes single requests, such as random arrivals at a low rate."
    "iosonar replay low.csv --target /dev/sdX -o low.ios" }
CreditsFall = "W095" "the credits of a limit were being used up" {
    "The load used the credits of the drive's limits, such as those of a cloud volume or an SLC cache, faster than it earned them."
    "Once they are used up, only the baseline is allowed, and requests wait. The times above are those of the burst."
    "Lower the load to the baseline, or simulate a run that is long enough to use up the credits. A recording is simulated only \
     as long as it is: repeat it to see what follows."
    "iosonar sim volume.toml --set load.requests=10000000" }
BandsNotCleaned = "W096" "the media cache of a shingled drive was not cleaned" {
    "All random writes went to the media cache, and no band was cleaned."
    "Writes are much slower once the media cache or its map is full, as a band is then cleaned for them."
    "Raise warmup_requests to the number of map entries or more, so that the cache is full when the measurement begins."
    "iosonar sim smr.toml --set warmup_requests=300000" }
LatenciesLeftOut = "W097" "latencies were left out because the format cannot represent them" {
    "The output format holds a load only, without the times that its requests took."
    "Commands that need latencies cannot use the output."
    "Keep the input, or write a format that holds latencies, such as .ios or .csv."
    "iosonar convert a.csv -o a.ios" }
AnotherDrive = "W098" "the recording is of another drive than the profile" {
    "The recorded drive turns at a speed that differs by more than 2 % from that of the profile given with --profile."
    "Only rotation and seeks were fitted. The capacity, zones and surfaces are still those of the other drive."
    "Start with the profile of the recorded drive, or use the new profile only for loads like the recorded one."
    "iosonar profiles" }
MoreAtOnce = "W099" "the device may serve more requests at a time than were recorded" {
    "In the recording, requests hardly ever waited for each other. The number of requests that the model serves at a time is \
     the least one that explains this."
    "The verdict applies to the recorded queue depths. With deeper queues, its latencies may be many times too long."
    "Record a load with a deeper queue, whose depth varies, if the model is to be used for such loads."
    "iosonar replay deep.csv --target /dev/sdX -o deep.ios" }
}
