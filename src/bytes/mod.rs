//! Plain work on bytes that knows no word of the field: lines, hexadecimal digits, safe display.

pub mod hex;
pub mod lines;
pub mod show;
pub mod windows;

pub use lines::Lines;
pub use show::{printable, show};
