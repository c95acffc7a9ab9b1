//! The flags that set what messages of the library name.

use crate::error::Setting;

/// The flag that sets `setting`.
pub(super) fn flag(setting: Setting) -> &'static str {
    match setting {
        Setting::Memory => "-S",
        Setting::TempDir => "-T",
        Setting::Threads => "-j",
        Setting::LineLimit => "--line-limit",
        Setting::Recursive => "-r",
        Setting::Format => "--format",
        Setting::LogFormat => "--log-format",
        Setting::Fields => "--field",
        Setting::BaseUrl => "--base-url",
        Setting::Include => "--include",
        Setting::Exclude => "--exclude",
        Setting::Status => "--status",
        Setting::NotIn => "--not-in",
        Setting::Hosts => "--hosts",
        Setting::DefaultParams => "--default-param",
        Setting::Rules => "--rules",
        Setting::OnBad => "--on-bad",
        Setting::RowFormat => "--to",
        Setting::Top => "--top",
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Args;

    #[test]
    fn each_setting_has_a_flag_that_exists() {
        let command = Args::command();
        for setting in Setting::ALL {
            let flag = flag(setting);
            let is_of = |command: &clap::Command| {
                command.get_arguments().any(|argument| {
                    let long = argument.get_long().map(|long| format!("--{long}"));
                    let short = argument.get_short().map(|short| format!("-{short}"));
                    long.as_deref() == Some(flag) || short.as_deref() == Some(flag)
                })
            };
            assert!(command.get_subcommands().any(is_of), "{setting:?}: {flag}");
        }
    }
}
