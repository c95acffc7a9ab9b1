//! Lines to records: what is a URL, what is empty, what is a reject.
//!
//! ```text
//! chunk --Entries--> line --LineFormat::parse--> Found --assemble--> Record { spelling, … }
//!            ^
//!         Layout: the format of the file, from `detect` or as told
//! ```

pub mod agent;
mod assemble;
mod cut;
pub mod detect;
mod entries;
mod escapes;
mod filter;
pub mod formats;
mod found;
mod line_format;
mod marked;
mod odd_fields;
mod quoted;
mod request;
mod seeming;
pub mod time;

pub use assemble::{BaseUrl, NO_HOST, url_of, without_no_host};
pub(crate) use cut::is_status;
pub use entries::{Entries, Entry, Layout, ReadOptions, Record, Workspace, bom_bytes};
pub use filter::{RecordFilter, StatusRange, UrlGlob, UrlGlobs};
pub use found::{Escapes, Fields, Found, Parsed, PathKind};
pub use line_format::{Headerless, LineFormat, Recognize};
pub use odd_fields::OddField;
pub use quoted::{QuotedRows, Row};
pub use seeming::Seeming;
