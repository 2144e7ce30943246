//! What lies behind the controller, checked; flash has a file of its own.

use iosonar_units::{Bytes, Nanos, SECTOR_BYTES};

use super::{BIO_SECTORS, Checker, FlashParameters};
use crate::mapping_cache::MappingCacheParameters;
use crate::measured::MeasuredService;
use crate::profile::{
    CacheProfile, DramProfile, MappingCacheProfile, MeasuredProfile, SsdProfile, SsdProfileError,
};

/// Storage that is always ready, and whose channels serve one access each at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryParameters {
    /// How many accesses are served in parallel.
    pub channels: u32,
    /// The time of an access.
    pub times: AccessTimes,
}

/// The times of accesses to memory.
#[derive(Clone, Debug, PartialEq)]
pub enum AccessTimes {
    /// DRAM.
    Dram {
        /// 4 KiB for a read.
        read: Nanos,
        /// 4 KiB for a write.
        write: Nanos,
    },
    /// Whole commands, as they were measured.
    Measured {
        /// A command that reads.
        read: MeasuredService,
        /// A command that writes.
        write: MeasuredService,
    },
}

/// A write cache, in logical pages. The default holds none: writes go through to flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheParameters {
    /// How many pages it holds.
    pub pages: u64,
    /// When more are dirty, destaging begins ...
    pub high: u64,
    /// ... and goes on until no more are.
    pub low: u64,
    /// The time of an access, one at a time.
    pub access: Nanos,
}

/// The capacity that a profile gives, in sectors.
pub(super) fn capacity(check: &Checker<'_>, key: &str, text: &str) -> Result<u64, SsdProfileError> {
    let sectors = check.bytes(key, text)? / SECTOR_BYTES;
    if !(BIO_SECTORS..1 << 40).contains(&sectors) {
        return Err(check.wrong(key, text, "4KiB to 512 TiB"));
    }
    Ok(sectors)
}

/// DRAM and its capacity in sectors.
pub(super) fn dram(
    check: &Checker<'_>,
    dram: &DramProfile,
) -> Result<(MemoryParameters, u64), SsdProfileError> {
    let channels = check.count("dram.channels", dram.channels, 1 << 12)?;
    let times = AccessTimes::Dram {
        read: check.micros("dram.read_us", dram.read_us)?,
        write: check.micros("dram.write_us", dram.write_us)?,
    };
    let sectors = capacity(check, "dram.capacity", &dram.capacity)?;
    Ok((MemoryParameters { channels, times }, sectors))
}

/// Measured service times, and the capacity in sectors.
pub(super) fn measured(
    check: &Checker<'_>,
    p: &MeasuredProfile,
) -> Result<(MemoryParameters, u64), SsdProfileError> {
    let channels = check.count("measured.channels", p.channels, 1 << 16)?;
    let times = AccessTimes::Measured {
        read: measured_service(check, "read", &p.read_quantiles, p.read_us_per_kib)?,
        write: measured_service(check, "write", &p.write_quantiles, p.write_us_per_kib)?,
    };
    let sectors = capacity(check, "measured.capacity", &p.capacity)?;
    Ok((MemoryParameters { channels, times }, sectors))
}

fn measured_service(
    check: &Checker<'_>,
    op: &str,
    quantiles: &[(f64, f64)],
    us_per_kib: f64,
) -> Result<MeasuredService, SsdProfileError> {
    let ascends = quantiles
        .windows(2)
        .all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1);
    let ends = quantiles.first().is_some_and(|q| q.0 == 0.0)
        && quantiles.last().is_some_and(|q| q.0 == 1.0);
    let times = quantiles.iter().all(|q| (0.0..=1e7).contains(&q.1));
    if quantiles.len() < 2 || !ascends || !ends || !times {
        return Err(check.wrong(
            &format!("measured.{op}_quantiles"),
            format!("a list of {}", quantiles.len()),
            "[probability, microseconds], both ascending, probabilities from 0.0 to 1.0, times 0 to 1e7",
        ));
    }
    check.micros(&format!("measured.{op}_us_per_kib"), us_per_kib)?;
    let in_ns = quantiles.iter().map(|&(p, us)| (p, us * 1e3)).collect();
    let ns_per_sector = us_per_kib * 1e3 * SECTOR_BYTES as f64 / 1024.0;
    Ok(MeasuredService::new(in_ns, ns_per_sector))
}

/// The write cache in front of `flash`, if the profile has one.
pub(super) fn cache(
    check: &Checker<'_>,
    profile: &SsdProfile,
    flash: Option<&FlashParameters>,
) -> Result<Option<CacheParameters>, SsdProfileError> {
    // A profile's cache can be taken out again: it has no size then.
    let given = profile.cache.as_ref().filter(|cache| cache.size != "0");
    let (cache, flash) = match (given, flash) {
        (None, Some(flash)) if flash.plane.slots_per_page > 1 => {
            let unit = profile
                .flash
                .as_ref()
                .and_then(|f| f.mapping_unit.as_deref());
            return Err(check.wrong(
                "flash.mapping_unit",
                unit.unwrap_or_default(),
                "the size of a flash page, or a [ssd.cache] where logical pages wait until one is full",
            ));
        }
        (None, _) => return Ok(None),
        (Some(_), None) => {
            return Err(check.wrong("cache", "given", "no cache: it is for storage = \"flash\""));
        }
        (Some(cache), Some(flash)) => (cache, flash),
    };
    let parameters = cache_parameters(check, cache, flash.logical_page_bytes)?;
    // Pages wait until others fill their flash page: there must be room for one that does.
    let open = u64::from(flash.planes) * u64::from(flash.plane.slots_per_page - 1);
    if parameters.high + open >= parameters.pages {
        let least = (parameters.high + open + 1) * flash.logical_page_bytes;
        let expected = format!(
            "at least {} for what may be dirty and for a part of a flash page of each plane",
            Bytes::new(least)
        );
        return Err(check.wrong("cache.size", &cache.size, expected));
    }
    Ok(Some(parameters))
}

fn cache_parameters(
    check: &Checker<'_>,
    cache: &CacheProfile,
    logical_page: u64,
) -> Result<CacheParameters, SsdProfileError> {
    let pages = check.bytes("cache.size", &cache.size)? / logical_page;
    if !(1..1 << 31).contains(&pages) {
        let expected = "at least one logical page, and at most 2^31 of them";
        return Err(check.wrong("cache.size", &cache.size, expected));
    }
    let above = check.probability("cache.destage_above", cache.destage_above)?;
    let below = check.probability("cache.destage_below", cache.destage_below)?;
    if below > above {
        let expected = "at most cache.destage_above";
        return Err(check.wrong("cache.destage_below", below, expected));
    }
    let share = |share: f64| ((share * pages as f64) as u64).min(pages - 1);
    Ok(CacheParameters {
        pages,
        high: share(above),
        low: share(below),
        access: check.micros("cache.access_us", cache.access_us)?,
    })
}

/// The mapping cache, if the profile has one; only flash has a map.
pub(super) fn mapping_cache(
    check: &Checker<'_>,
    given: Option<&MappingCacheProfile>,
    is_flash: bool,
) -> Result<Option<MappingCacheParameters>, SsdProfileError> {
    let Some(cache) = given.filter(|cache| cache.entries > 0) else {
        return Ok(None);
    };
    if !is_flash {
        let expected = "none: it is for storage = \"flash\"";
        return Err(check.wrong("mapping_cache", "given", expected));
    }
    let count = |key, n, most| check.count(&format!("mapping_cache.{key}"), n, most);
    let most = 1 << 30;
    Ok(Some(MappingCacheParameters {
        entries: count("entries", cache.entries, most)?,
        entries_per_page: count("entries_per_page", cache.entries_per_page, most)?,
        read_bytes: count("read_bytes", cache.read_bytes, 1 << 24)?,
    }))
}
