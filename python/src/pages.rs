//! Which URLs are the first of their page.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use undust::canonical::Scratch;
use undust::cluster::ClusterSet;

use crate::canonicalizer::Canonicalizer;
use crate::column::Column;

/// The secret that fingerprints depend on: those of one key can be compared.
#[pyclass(frozen, module = "undust._native")]
pub(crate) struct FingerprintKey(pub(crate) undust::FingerprintKey);

#[pymethods]
impl FingerprintKey {
    /// The key of 16 secret bytes, or a random one.
    #[new]
    #[pyo3(signature = (secret = None))]
    fn new(secret: Option<&[u8]>) -> PyResult<Self> {
        let Some(secret) = secret else {
            return Ok(FingerprintKey(undust::FingerprintKey::random()));
        };
        let bytes: [u8; 16] = secret.try_into().map_err(|_| {
            PyValueError::new_err(format!("key: expected 16 bytes, found {}", secret.len()))
        })?;
        Ok(FingerprintKey(undust::FingerprintKey::from_bytes(bytes)))
    }

    /// The secret.
    fn secret<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }
}

/// The pages that were seen so far, by 24 bytes each at most.
#[pyclass(frozen, module = "undust._native")]
pub(crate) struct Pages {
    canonicalizer: Py<Canonicalizer>,
    key: Py<FingerprintKey>,
    seen: ClusterSet,
}

#[pymethods]
impl Pages {
    #[new]
    fn new(canonicalizer: Py<Canonicalizer>, key: Py<FingerprintKey>) -> Self {
        Pages { canonicalizer, key, seen: ClusterSet::default() }
    }

    fn __len__(&self) -> usize {
        self.seen.len() as usize
    }

    /// Takes in the page of `url`; says whether it is new.
    fn add(&self, url: &[u8]) -> bool {
        let mut scratch = Scratch::default();
        let form = self.canonicalizer.get().canonical(url, &mut scratch);
        self.seen.insert(self.key.get().0.fingerprint(form))
    }

    /// The same for each row of a column, in order: a bit for each, the first the lowest; and the
    /// fingerprints, 16 bytes each.
    fn add_column<'py>(
        &self,
        py: Python<'py>,
        ends: PyBuffer<i64>,
        bytes: PyBuffer<u8>,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let column = Column::read(py, &ends, &bytes)?;
        let mut bits = vec![0_u8; column.rows().div_ceil(8)];
        let mut prints = Vec::with_capacity(column.rows());
        py.detach(|| {
            let pieces =
                self.canonicalizer.get().fingerprints_of(&column, self.key.get(), threads)?;
            for (row, fingerprint) in pieces.into_iter().flatten().enumerate() {
                let is_new = self.seen.insert(fingerprint);
                bits[row / 8] |= u8::from(is_new) << (row % 8);
                prints.push(fingerprint.0.to_be_bytes());
            }
            PyResult::Ok(())
        })?;
        Ok((PyBytes::new(py, &bits), PyBytes::new(py, prints.as_flattened())))
    }
}
