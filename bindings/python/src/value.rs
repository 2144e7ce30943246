//! Values from Python to TOML and JSON, and back.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString};
use serde_json::Value;

use crate::error::refused;

/// JSON as dicts, lists and numbers.
pub(crate) fn of_json<'py>(py: Python<'py>, json: &Value) -> PyResult<Bound<'py, PyAny>> {
    match json {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(flag) => flag.into_bound_py_any(py),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(n), _) => n.into_bound_py_any(py),
            (None, Some(n)) => n.into_bound_py_any(py),
            (None, None) => number.as_f64().into_bound_py_any(py),
        },
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(values) => {
            let list = PyList::empty(py);
            for value in values {
                list.append(of_json(py, value)?)?;
            }
            Ok(list.into_any())
        }
        Value::Object(values) => {
            let dict = PyDict::new(py);
            for (key, value) in values {
                dict.set_item(key, of_json(py, value)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// No scenario nests values deeper than this. A list that contains itself does.
const DEEPEST: u32 = 32;
/// No scenario has a longer list. An endless iterator is longer.
const LONGEST: usize = 1_000_000;

/// A value as TOML has it. `key` says in errors which.
pub(crate) fn toml_of(value: &Bound<'_, PyAny>, key: &str) -> PyResult<toml::Value> {
    toml_at(value, key, 0)
}

fn toml_at(value: &Bound<'_, PyAny>, key: &str, depth: u32) -> PyResult<toml::Value> {
    if depth > DEEPEST {
        return Err(refused(format!(
            "'{key}' has values within more than {DEEPEST} others"
        )));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(toml::Value::Boolean(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(toml::Value::String(value.extract()?));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return Ok(toml::Value::Table(table_at(dict, key, depth + 1)?));
    }
    // A number of NumPy is one, too.
    if !value.is_instance_of::<PyFloat>()
        && let Ok(n) = value.extract::<i64>()
    {
        return Ok(toml::Value::Integer(n));
    }
    if let Ok(x) = value.extract::<f64>() {
        return Ok(toml::Value::Float(x));
    }
    if let Ok(path) = value.extract::<std::path::PathBuf>() {
        let text = path.to_str();
        let text = text.ok_or_else(|| refused(format!("'{key}' is a path that is not UTF-8")))?;
        return Ok(toml::Value::String(text.to_owned()));
    }
    if let Ok(values) = value.try_iter() {
        let values = values.take(LONGEST + 1);
        let values = values.map(|value| toml_at(&value?, key, depth + 1));
        let values = values.collect::<PyResult<Vec<_>>>()?;
        if values.len() > LONGEST {
            return Err(refused(format!("'{key}' has more than {LONGEST} values")));
        }
        return Ok(toml::Value::Array(values));
    }
    Err(refused(format!(
        "'{key}' is {}, expected a number, a string, a Boolean, a list or a dict",
        value.repr()?
    )))
}

/// A dict as a TOML table. Keys whose value is None are left out.
pub(crate) fn table_of(dict: &Bound<'_, PyDict>, within: &str) -> PyResult<toml::Table> {
    table_at(dict, within, 0)
}

fn table_at(dict: &Bound<'_, PyDict>, within: &str, depth: u32) -> PyResult<toml::Table> {
    let mut table = toml::Table::new();
    for (key, value) in dict {
        let Ok(key) = key.extract::<String>() else {
            return Err(refused(format!("the key {} is not a string", key.repr()?)));
        };
        if value.is_none() {
            continue;
        }
        let name = match within {
            "" => key.clone(),
            within => format!("{within}.{key}"),
        };
        let value = toml_at(&value, &name, depth)?;
        table.insert(key, value);
    }
    Ok(table)
}

/// A value as it is typed for an option: texts without quotes.
pub(crate) fn typed(value: &Bound<'_, PyAny>, key: &str) -> PyResult<String> {
    Ok(match toml_of(value, key)? {
        toml::Value::String(text) => text,
        other => other.to_string(),
    })
}
