//! Plain work on bytes that knows no word of the field: lines, hexadecimal digits, safe display.

pub mod hex;
pub mod lines;
#[allow(unsafe_code)]
pub mod marks;
pub mod show;

pub use lines::Lines;
pub use show::{printable, show};
