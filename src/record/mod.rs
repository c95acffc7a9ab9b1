//! Lines to records: what is a URL, what is empty, what is a reject.
//!
//! ```text
//! chunk --Entries--> line --LineFormat::parse--> Found --assemble--> Record { spelling, … }
//!            ^
//!         Layout: the format of the file, from `detect` or as given
//! ```

mod assemble;
pub(crate) mod container_rows;
pub mod detect;
mod entries;
mod field_map;
pub(super) mod fields;
mod filter;
mod first_lines;
pub mod formats;
mod found;
mod layout;
mod line_format;
mod marked;
mod quoted;
mod table;

pub use assemble::{BaseUrl, NO_HOST, url_of, without_no_host};
pub use entries::{Entries, Entry, Record, Workspace, bom_bytes};
pub use field_map::FieldMap;
pub use fields::escapes::Escapes;
pub(crate) use fields::is_status;
pub use fields::{agent, time};
pub use filter::{RecordFilter, StatusRange, UrlGlob, UrlGlobs};
pub use first_lines::{FirstLines, FormatVotes, OddField, Seeming};
pub use found::{Fields, Found, Parsed, PathKind};
pub use layout::{Layout, ReadOptions};
pub use line_format::{Headerless, IsEqual, LineFormat, Recognize, Uneven};
pub use quoted::{QuotedRows, Row};
