//! What was seen of a site: its URLs in tables, what they show, and the programs that answer them.

mod canonical_links;
mod contents;
pub(crate) mod handlers;
pub(crate) mod identity;
pub(crate) mod intake;
mod interner;
mod kept;
pub(crate) mod loose_path;
pub(crate) mod maps;
pub(crate) mod observation;
pub(crate) mod segments;
pub(crate) mod site;
pub(crate) mod stems;
pub(crate) mod table;
mod usable;

pub use observation::Observation;
pub use site::site_of;
pub use table::Signal;
