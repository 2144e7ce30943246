//! What lies behind the controller, checked; flash has a file of its own.

use iosonar_units::{Bytes, Nanos, SECTOR_BYTES};

use super::{BIO_SECTORS, FlashParameters, Transfer};
use crate::mapping_cache::MappingCacheParameters;
use crate::measured::MeasuredService;
use crate::profile::{
    CacheProfile, Checker, DramProfile, MappingCacheProfile, MeasuredProfile, SsdProfile,
    SsdProfileError,
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CacheParameters {
    /// How many pages it holds.
    pub pages: u64,
    /// When more are dirty, destaging begins ...
    pub high: u64,
    /// ... and goes on until no more are.
    pub low: u64,
    /// The time of an access, one at a time.
    pub access: Transfer,
    /// Requests of more sectors move two rows at a time.
    pub row_sectors: u64,
    /// Whether flushes empty it.
    pub volatile: bool,
    /// How many sectors may be on their way to flash before further writes wait.
    pub in_flight: Option<u64>,
    /// Pages that are written again within this time stay; zero: none does.
    pub hold: Nanos,
    /// How many pages stay at most.
    pub held: u64,
}

/// The capacity that a profile gives, in sectors.
pub(super) fn capacity(check: &Checker<'_>, key: &str, text: &str) -> Result<u64, SsdProfileError> {
    let sectors = check.bytes(key, text)? / SECTOR_BYTES;
    if !(BIO_SECTORS..1 << 40).contains(&sectors) {
        return Err(check.wrong(key, text, "at least 4 KiB and less than 512 TiB"));
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
            format!("a list of length {}", quantiles.len()),
            "at least two pairs [probability, microseconds], both ascending, with probabilities from 0.0 to 1.0 and \
             times from 0 to 1e7",
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
                "the size of a flash page, or an [ssd.cache] in which logical pages wait until a flash page is full",
            ));
        }
        (None, _) => return Ok(None),
        (Some(_), None) => {
            return Err(check.wrong(
                "cache",
                "given",
                "no cache, as a cache needs storage = \"flash\"",
            ));
        }
        (Some(cache), Some(flash)) => (cache, flash),
    };
    let parameters = cache_parameters(check, cache, flash.logical_page_bytes)?;
    // Pages wait until others fill their flash page: there must be room for one that does.
    let open = u64::from(flash.planes) * u64::from(flash.plane.slots_per_page - 1);
    let waiting = open * flash.logical_page_sectors();
    if parameters.in_flight.is_some_and(|most| most <= waiting) {
        let least = Bytes::new((waiting + 1) * SECTOR_BYTES);
        let expected = format!("at least {least}: more than a partial flash page per plane");
        let seen = cache.in_flight.as_deref().unwrap_or_default();
        return Err(check.wrong("cache.in_flight", seen, expected));
    }
    let stays = match parameters.hold {
        Nanos::ZERO => parameters.high,
        _ => parameters.high + parameters.held,
    };
    if stays + open >= parameters.pages {
        let least = (stays + open + 1) * flash.logical_page_bytes;
        let expected = format!(
            "at least {} for dirty and pinned data and a partial flash page per plane",
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
    if !(0.0..=1e4).contains(&cache.hold_ms) {
        let expected = "a time in milliseconds, 0 to 1e4";
        return Err(check.wrong("cache.hold_ms", cache.hold_ms, expected));
    }
    let in_flight = sectors(check, "cache.in_flight", cache.in_flight.as_deref())?;
    let row = sectors(check, "cache.row", cache.row.as_deref())?;
    if in_flight.is_some() && above > 0.0 {
        let expected = "0 with cache.in_flight, which writes dirty data at once";
        return Err(check.wrong("cache.destage_above", above, expected));
    }
    let share = |share: f64| ((share * pages as f64) as u64).min(pages - 1);
    Ok(CacheParameters {
        pages,
        high: share(above),
        low: share(below),
        access: Transfer {
            setup_ns: check.micros("cache.access_us", cache.access_us)?.get() as f64,
            ns_per_byte: match cache.mb_per_s {
                Some(rate) => check.ns_per_byte("cache.mb_per_s", rate)?,
                None => 0.0,
            },
        },
        row_sectors: row.unwrap_or(u64::MAX),
        volatile: cache.volatile,
        in_flight,
        hold: Nanos::nearest(cache.hold_ms * 1e6),
        held: share(check.probability("cache.hold_share", cache.hold_share)?),
    })
}

/// A size that may be left out, in sectors.
fn sectors(
    check: &Checker<'_>,
    key: &str,
    size: Option<&str>,
) -> Result<Option<u64>, SsdProfileError> {
    let Some(size) = size else { return Ok(None) };
    match check.bytes(key, size)? / SECTOR_BYTES {
        0 => Err(check.wrong(key, size, "at least 512 bytes")),
        sectors => Ok(Some(sectors)),
    }
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
        let expected = "no value, as the key needs storage = \"flash\"";
        return Err(check.wrong("mapping_cache", "given", expected));
    }
    let count = |key, n, most| check.count(&format!("mapping_cache.{key}"), n, most);
    let most = 1 << 30;
    Ok(Some(MappingCacheParameters {
        entries: count("entries", cache.entries, most)?,
        entries_per_page: count("entries_per_page", cache.entries_per_page, most)?,
        read_bytes: count("read_bytes", cache.read_bytes, 1 << 24)?,
        write_back: cache.write_back,
    }))
}
