//! What was seen of a site: its URLs in tables, what they show, and the programs that answer them.

mod canonical_links;
mod contents;
pub(in crate::mine) mod handlers;
pub(in crate::mine) mod identity;
pub(in crate::mine) mod intake;
mod interner;
pub(in crate::mine) mod loose_path;
pub(in crate::mine) mod observation;
pub(in crate::mine) mod segments;
pub(in crate::mine) mod site;
pub(in crate::mine) mod splits;
pub(in crate::mine) mod stems;
pub(in crate::mine) mod table;

pub use observation::Observation;
pub use site::site_of;
pub use table::Signal;
