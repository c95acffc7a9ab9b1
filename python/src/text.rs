//! Settings and rule files as text.

use std::path::PathBuf;

use pyo3::prelude::*;
use undust::bytes::show_path;
use undust::input::{Containers, Input, InputPlan};
use undust::limits::CONFIG_BYTES_MAX;

use crate::error::{UndustError, raised};

/// The text of a settings or rule file at `path`, packed or not.
///
/// Failure: the system's own exception if it cannot be opened is left to the caller, who opens it
/// first; an `UndustError` with its name if it is too long, or is not UTF-8.
#[pyfunction]
pub(crate) fn read_text(py: Python, path: PathBuf) -> PyResult<String> {
    let shown = show_path(&path).to_string();
    let bytes_max = CONFIG_BYTES_MAX as usize;
    let plan = InputPlan {
        paths: vec![path.clone()],
        containers: Containers::None,
        line_bytes_max: bytes_max,
        map: false,
        ..InputPlan::default()
    };
    let read = || -> undust::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        for chunk in Input::open(&plan)? {
            let chunk = chunk?;
            bytes.extend_from_slice(chunk.bytes());
            if chunk.overlong().is_some() || bytes.len() > bytes_max {
                return Ok(None);
            }
        }
        Ok(Some(bytes))
    };
    let Some(bytes) = py.detach(read).map_err(raised)? else {
        return Err(UndustError::new_err(format!(
            "{shown}: longer than {CONFIG_BYTES_MAX} bytes, which is too much for such a file"
        )));
    };
    String::from_utf8(bytes).map_err(|error| {
        UndustError::new_err(format!(
            "{shown}: expected text in UTF-8, found other bytes ({error}); convert it first"
        ))
    })
}
