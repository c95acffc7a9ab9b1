//! What equal and unequal contents are worth on a site, as its recaptures, its noise and its
//! versions of pages show.

pub(crate) mod count;
pub(crate) mod decay;
pub(crate) mod noise;
pub(crate) mod signal;
pub(crate) mod versions;
