//! Registered models: the table `[device]`, and levels that are not built in.

use iosonar_sim_core::Seed;
use iosonar_units::{Bytes, nearest};
use toml::Spanned;

use super::check::Checker;
use crate::array_model::LevelOptions;
use crate::file::{ArrayFile, DeviceFile, LevelName};
use crate::registry::DevicePlace;
use crate::words::Word;
use crate::{Devices, RegisteredDevices, RegisteredLevel, Registry, ScenarioError, Servers};

/// The devices of the table `[device]`.
pub(super) fn devices(
    check: &Checker<'_>,
    device: &DeviceFile,
    registry: &Registry,
) -> Result<Devices, ScenarioError> {
    match (&device.service, &device.model) {
        (Some(_), Some(_)) => Err(check
            .incomplete("[device] has both 'service' and 'model': remove one of them")),
        (None, None) => Err(check.incomplete(
            "[device] has neither 'service' nor 'model': add the distribution of its service times, such as service = \
             { exponential_ms = 5.0 }",
        )),
        (Some(service), None) => {
            if let Some(options) = &device.options {
                let problem = "apply only to registered models: remove the table";
                return Err(check.refused(options, "device.options", problem));
            }
            Ok(Devices::Servers(Servers {
                service: super::laws::service_time(check, service)?,
                sectors: capacity(check, device)?,
            }))
        }
        (None, Some(model)) => {
            registered(check, device, model, registry).map(Devices::Registered)
        }
    }
}

fn registered(
    check: &Checker<'_>,
    device: &DeviceFile,
    named: &Spanned<String>,
    registry: &Registry,
) -> Result<RegisteredDevices, ScenarioError> {
    let name = named.get_ref();
    let Some(model) = registry.device(name) else {
        let names: Vec<_> = registry.device_names().collect();
        let expected = match names[..] {
            [] => "a registered model, but this program has none: use [disk] or [ssd] instead"
                .to_owned(),
            _ => format!("a registered model, {}", one_of(name, &names)),
        };
        let seen = format!("\"{name}\"");
        return Err(check.wrong(named, "device.model", seen, expected));
    };
    let sectors = capacity(check, device)?;
    let options = device.options.as_ref();
    let devices = RegisteredDevices {
        name: name.clone(),
        sectors,
        options: options.map_or_else(toml::Table::new, |options| options.get_ref().clone()),
        model: model.clone(),
    };
    let seed = Seed::new(1);
    let place = DevicePlace::new(0, sectors, "device/0", &seed);
    match (model.check(&devices.options, &place), options) {
        (Ok(()), _) => Ok(devices),
        (Err(error), Some(options)) => Err(check.refused(
            options,
            "device.options",
            &of_model(&error.to_string(), name),
        )),
        (Err(error), None) => {
            Err(check.refused(named, "device.model", &of_model(&error.to_string(), name)))
        }
    }
}

/// The names that would do, and the one that is probably meant.
fn one_of(seen: &str, names: &[&str]) -> String {
    let near = nearest(seen, names).map(|near| format!("; did you mean \"{near}\"?"));
    format!(
        "one of \"{}\"{}",
        names.join("\", \""),
        near.unwrap_or_default()
    )
}

fn of_model(problem: &str, name: &str) -> String {
    format!("is invalid for the model \"{name}\": {problem}")
}

fn capacity(check: &Checker<'_>, device: &DeviceFile) -> Result<u64, ScenarioError> {
    let text = device.capacity.get_ref();
    match text.parse::<Bytes>().map(Bytes::get) {
        Ok(bytes) if bytes > 0 && bytes.is_multiple_of(512) => Ok(bytes / 512),
        _ => {
            let expected = "a whole number of sectors of 512 B, such as \"1TB\"";
            Err(check.wrong(
                &device.capacity,
                "device.capacity",
                format!("'{text}'"),
                expected,
            ))
        }
    }
}

/// The level of this name, which is not built in.
pub(super) fn level(
    check: &Checker<'_>,
    array: &ArrayFile,
    name: &str,
    registry: &Registry,
) -> Result<LevelOptions, ScenarioError> {
    let Some(model) = registry.level(name) else {
        let names = LevelName::WORDS
            .iter()
            .copied()
            .chain(registry.level_names());
        let names: Vec<_> = names.collect();
        let (seen, expected) = (format!("\"{name}\""), one_of(name, &names));
        return Err(check.wrong(&array.level, "array.level", seen, expected));
    };
    let options = array.options.as_ref();
    Ok(LevelOptions::Registered(RegisteredLevel {
        name: name.to_owned(),
        options: options.map_or_else(toml::Table::new, |options| options.get_ref().clone()),
        model: model.clone(),
    }))
}
