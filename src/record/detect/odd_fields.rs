//! Fields whose values in the first lines of a table do not fit.

use crate::bytes::show;
use crate::record::entries::{Entries, Entry, Workspace};
use crate::record::fields::time;
use crate::record::first_lines::OddField;
use crate::record::layout::{Layout, ReadOptions};
use crate::record::{Fields, is_status};

/// The odd fields of `lines`, read by `layout`.
pub(super) fn odd_fields(lines: &[&[u8]], layout: &Layout, options: ReadOptions) -> Vec<OddField> {
    let mut workspace = Workspace::default();
    let text = lines.join(&options.separator);
    let mut entries = Entries::new(&text, false, options, layout, &mut workspace);
    let odd = |field| OddField { field, odd: 0, values: 0, first: String::new() };
    let mut found = ["status", "time"].map(odd);
    while let Some(entry) = entries.next() {
        let Entry::Record(record) = entry else { continue };
        let Fields { status, time, clock, .. } = *record.fields;
        let are_known = [is_status(status), time::parse(time, clock).is_some()];
        for ((odd, value), is_known) in found.iter_mut().zip([status, time]).zip(are_known) {
            odd.values += usize::from(!value.is_empty());
            if value.is_empty() || is_known {
                continue;
            }
            odd.odd += 1;
            if odd.first.is_empty() {
                odd.first = show(&value[..value.len().min(40)]).to_string();
            }
        }
    }
    found.into_iter().filter(|odd| 2 * odd.odd > odd.values).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::detect;

    #[test]
    fn fields() {
        let options = ReadOptions {
            separator: b'\n',
            line_bytes_max: 1 << 20,
            verbatim: false,
            fields: true,
        };
        for (text, expected, why) in [
            ("url,status\n/a,200\n/b,301.0\n/c,200 OK\n", &[][..], "statuses"),
            ("url,status\n/a,OK\n/b,\n/c,Moved\n", &[("status", 2, 2, "OK")], "texts"),
            ("url,status\n/a,200\n/b,-\n/c,OK\n", &[], "no more than half of them"),
            (
                "url,code,date\n/a,1,20.11.2026\n/b,2,21.11.2026\n/c,3,2026-11-21\n",
                &[("status", 3, 3, "1"), ("time", 2, 3, "20.11.2026")],
                "both",
            ),
            ("/a\n/b\n", &[], "a list"),
        ] {
            let layout = detect::as_told(
                if text.starts_with("url") { "csv" } else { "lines" },
                text.as_bytes(),
                options,
            );
            let lines: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
            let found = odd_fields(&lines, &layout.unwrap(), options);
            let found: Vec<_> =
                found.iter().map(|odd| (odd.field, odd.odd, odd.values, &*odd.first)).collect();
            assert_eq!(found, expected, "{why}: {text}");
        }
    }
}
