//! Replays of traces on real block devices.
