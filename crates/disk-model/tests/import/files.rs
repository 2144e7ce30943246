//! Parameter files of DiskSim 4.0 of a made-up drive.

/// A `disksim_disk` of which some values are changed.
pub(crate) fn specs(changes: &[(&str, &str)]) -> String {
    let plain = "Per-request overhead time = 0.0, Time scale for overheads = 1.0, Bulk sector transfer time = 0.1, \
        Hold bus entire read xfer = 0, Hold bus entire write xfer = 0, Allow almost read hits = 0, \
        Allow sneaky full read hits = 0, Allow sneaky partial read hits = 0, Allow sneaky intermediate read hits = 0, \
        Allow read hits on write data = 1, Allow write prebuffering = 0, Preseeking level = 0, Never disconnect = 0, \
        Print stats = 1, Avg sectors per cylinder = 100, Max queue length = 1, Number of buffer segments = 3, \
        Maximum number of write segments = 1, Segment size (in blks) = 64, Use separate write segment = 0, \
        Low (write) water mark = 0.0, High (read) water mark = 0.0, Set watermark by reqsize = 1, \
        Calc sector by sector = 1, Enable caching in buffer = 1, Buffer continuous read = 3, \
        Minimum read-ahead (blks) = 0, Maximum read-ahead (blks) = 32, Read-ahead over requested = 1, \
        Read-ahead on idle hit = 0, Read any free blocks = 0, Fast write level = 1, Immediate buffer read = 0, \
        Immediate buffer write = 0, Combine seq writes = 1, Stop prefetch in sector = 0, Disconnect write if seek = 0, \
        Write hit stop prefetch = 1, Read directly to buffer = 1, Immed transfer partial hit = 1, \
        Read hit over. after read = 0.1, Read hit over. after write = 0.2, Read miss over. after read = 0.3, \
        Read miss over. after write = 0.4, Write hit over. after read = 0.5, Write hit over. after write = 0.6, \
        Write miss over. after read = 0.7, Write miss over. after write = 0.8, Read completion overhead = 0.0, \
        Write completion overhead = 0.0, Data preparation overhead = 0.0, First reselect overhead = 0.0, \
        Other reselect overhead = 0.0, Read disconnect afterread = 0.0, Read disconnect afterwrite = 0.0, \
        Write disconnect overhead = 0.0, Extra write disconnect = 0, Extradisc command overhead = 0.0, \
        Extradisc disconnect overhead = 0.0, Extradisc inter-disconnect delay = 0.0, \
        Extradisc 2nd disconnect overhead = 0.0, Extradisc seek delta = 0.0, Minimum seek delay = 0.0";
    let mut text = String::from("disksim_disk DRIVE {\n  Model = source drive.model,\n");
    for parameter in plain.split(',') {
        let (key, value) = parameter.split_once('=').unwrap();
        let (key, value) = (key.trim(), value.trim());
        let changed = changes.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
        match changed {
            Some("") => {}
            _ => text += &format!("  {key} = {}, # unit\n", changed.unwrap_or(value)),
        }
    }
    text + "  Scheduler = disksim_ioqueue { Scheduling policy = 1, Timeout time/weight = 6 }\n} # end\n"
}

/// The newer style, on many lines.
pub(crate) const MODEL: &str = "dm_disk DRIVE.model {
   Number of data surfaces = 4,
   Number of cylinders = 100,
   Block count = 8000,
   Mechanical Model = dm_mech_g1 {
      Access time type = trackSwitchPlusRotation,
      Seek type = extracted,
      Average seek time = 99.0,
      Full seek curve = drive.seek,
#     First ten seek times = [ 1.0, 2.0 ],
      Add. write settling delay = -0.1,
      Head switch time = 0.5,
      Rotation speed (in rpms) = 6000,
      Percent error in rpms = 0.0
   },
   Layout Model = dm_layout_g1 {
      LBN-to-PBN mapping scheme = 1,
      Sparing scheme used = 9,
      Rangesize for sparing = 1,
      Zones = [
         dm_layout_g1_zone { # band 0
            First cylinder number = 0, Last cylinder number = 49,
            Blocks per track = 24,
            Offset of first block = 3.700000,
            Empty space at zone front = 2,
            Skew for track switch = 5.900000,
            Skew for cylinder switch = 7.000000,
            Number of spares = 10,
            slips = [ 4, 500, # a comment within
              700 ],
            defects = [ 9, 4790 ]
         },
         dm_layout_g1_zone {
            First cylinder number = 52, Last cylinder number = 99,
            Blocks per track = 20,
            Empty space at zone front = 0,
            Number of spares = 0,
            slips = [],
            defects = [ ],
         },
      ]
   }
}
";

pub(crate) const PARV: &str = "disksim_global Global { Init Seed = 42, Stat definition file = statdefs }
disksim_iodriver DRIVER0 { type = 1, Constant access time = 0.0 }
disksim_bus HOSTBUS { type = 1, Read block transfer time = 0.0, Write block transfer time = 0.0 }
disksim_bus SCSI { type = 1, Arbitration type = 1, Arbitration time = 0.0,
   Read block transfer time = 0.15, Write block transfer time = 0.05, Print stats = 1 }
SCSI SLOWER { Write block transfer time = 0.3 }
disksim_ctlr CTLR0 { type = 1, Scale for delays = 0.0, Bulk sector transfer time = 0.0, Maximum queue length = 0 }
source drive.diskspecs
instantiate [ statfoo ] as Stats
instantiate [ bus0 ] as HOSTBUS
instantiate [ bus1 ] as SLOWER
instantiate [ disk0 .. disk2 ] as DRIVE
instantiate [ ctlr0 ] as CTLR0
topology disksim_iodriver driver0 [ disksim_bus bus0 [ disksim_ctlr ctlr0 [ disksim_bus bus1 [
   disksim_disk disk0 [], disksim_disk disk1 [] ] ] ] ]
disksim_logorg org0 { Addressing mode = Parts, devices = [ disk0 ], }
";

pub(crate) const SEEK: &str =
    "Seek distances measured: 4\n2, 1.5, 0.01\n3,\t1.2\n10, 3.0\n40, 5.0\n";
