//! The command line program.

use std::process::ExitCode;

fn main() -> ExitCode {
    undust::cli::main()
}
