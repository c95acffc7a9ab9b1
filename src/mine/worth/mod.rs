//! What equal and unequal contents are worth on a site, as its recaptures, its noise and its
//! versions of pages show.

pub(in crate::mine) mod decay;
pub(in crate::mine) mod noise;
pub(in crate::mine) mod signal;
pub(in crate::mine) mod versions;
