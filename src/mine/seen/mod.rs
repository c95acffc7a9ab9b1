//! What was seen of a site: its URLs in tables, the programs that answer them, and what equal
//! contents are worth there.

mod canonical_links;
mod contents;
pub(in crate::mine) mod decay;
pub(in crate::mine) mod handlers;
pub(in crate::mine) mod identity;
pub(in crate::mine) mod intake;
mod interner;
pub(in crate::mine) mod loose_path;
pub(in crate::mine) mod noise;
pub(in crate::mine) mod observation;
pub(in crate::mine) mod signal;
pub(in crate::mine) mod site;
pub(in crate::mine) mod splits;
pub(in crate::mine) mod stems;
pub(in crate::mine) mod table;
pub(in crate::mine) mod versions;

pub use observation::Observation;
pub use site::site_of;
pub use table::Signal;
