//! Sites where a rule looks right, and pages would be lost.
//!
//! Each is a shape of the web, with contents as a crawl would see them: a tab that matters on some
//! pages, a number that is a visit on most pages and the file on one. With each are the rules that
//! may be learned there.

use super::seen::maps::mix;
use super::tests::{mined, mined_over_time};
use super::{Miner, Observation};
use crate::canonical::DustStatus;

/// The rules in force on a site: what they are, where, and where not.
fn in_force(rows: &[(String, i64, String)]) -> Vec<(String, String, Vec<String>)> {
    let rules = mined_over_time(rows).rules.into_iter();
    let rules = rules.filter(|rule| rule.status == DustStatus::Auto);
    rules.map(|rule| (rule.kind.title(), rule.scope.path, rule.scope.except)).collect()
}

fn row(url: String, time: usize, content: String) -> (String, i64, String) {
    (format!("http://a.test/{url}"), time as i64, content)
}

/// Pages in two tabs, which are two pages for three tenths of them.
fn tabs() -> Vec<(String, i64, String)> {
    let each = (0..200usize).flat_map(|page| {
        ["posts", "likes"].map(move |tab| {
            let own = if page % 10 < 3 { tab } else { "" };
            row(format!("u/{}?show={tab}", page * 7919), page, format!("{page} {own}"))
        })
    });
    each.collect()
}

#[test]
fn one_page_that_has_changed_excuses_nothing() {
    let mut rows = tabs();
    assert_eq!(in_force(&rows), []);
    rows.extend([0, 300].map(|time| row(String::new(), time, format!("home {time}"))));
    assert_eq!(in_force(&rows), []);
}

#[test]
fn noise_of_other_pages_excuses_nothing() {
    let mut rows = Vec::new();
    for page in 0..1000usize {
        for (at, tab) in ["posts", "likes", "media"].into_iter().enumerate() {
            let own = if page % 10 < 3 { tab } else { "" };
            let draw = mix((page * 3 + at) as u64);
            let body = format!("{page} {own}");
            let url = format!("u/{}?show={tab}", page * 7919);
            // Half of them are seen, and some of these twice.
            if draw.is_multiple_of(2) {
                rows.push(row(url.clone(), page, body.clone()));
            }
            if draw.is_multiple_of(26) {
                rows.push(row(url, page + 60, body));
            }
        }
    }
    for page in 0..200usize {
        let changed = if page % 2 == 1 { "new" } else { "" };
        rows.push(row(format!("news/{}", page * 7919), page, format!("news {page}")));
        rows.push(row(format!("news/{}", page * 7919), page + 90, format!("news {page}{changed}")));
    }
    assert_eq!(in_force(&rows), []);
}

#[test]
fn a_number_that_is_a_visit_here_is_a_file_there() {
    let mut rows = Vec::new();
    for page in 0..300usize {
        for visit in 0..2 {
            let mark = mix((page * 2 + visit) as u64);
            rows.push(row(format!("page/{}?h={mark:016x}", page * 7919), page, page.to_string()));
        }
    }
    let visits = rows.clone();
    for file in 0..200usize {
        let url = format!("download.php?h={:016x}", mix(1000 + file as u64));
        rows.extend([0, 1].map(|time| row(url.clone(), time, format!("file {file}"))));
    }
    let except =
        |folder: &str| vec![("drop-param h".to_string(), String::new(), vec![folder.to_string()])];
    assert_eq!(in_force(&rows), except("/download.php"));
    // What shows one page to everybody may be a start page, or a wall before files.
    let starts = (0..200usize).map(|visit| {
        row(format!("start?h={:016x}", mix(5000 + visit as u64)), visit, "start".to_string())
    });
    let rows: Vec<_> = visits.iter().cloned().chain(starts).collect();
    assert_eq!(in_force(&rows), except("/start"));
    // So may what shows nothing.
    let unseen: Vec<String> =
        (0..400).map(|file| format!("http://a.test/topic?h={:016x}", mix(9000 + file))).collect();
    let seen =
        visits.iter().map(|(url, time, shown)| (url.as_bytes(), *time, Some(shown.as_bytes())));
    let seen = seen.chain(unseen.iter().map(|url| (url.as_bytes(), 0, None)));
    let seen: Vec<Observation<'_>> = seen
        .map(|(url, time, digest)| Observation {
            url,
            time: Some(time),
            status: Some(200),
            digest,
            ..Observation::default()
        })
        .collect();
    let rules = Miner::new().mine("a.test", &seen).rules;
    let found: Vec<_> =
        rules.iter().map(|rule| (rule.kind.title(), rule.scope.except.as_slice())).collect();
    assert_eq!(found, [("drop-param h".to_string(), &["/topic".to_string()][..])]);
}

#[test]
fn some_of_many_languages_are_translated() {
    let languages: Vec<String> = (0..52u8)
        .map(|at| format!("{}{}", (b'a' + at / 2) as char, (b'p' + at % 2) as char))
        .collect();
    let mut rows = Vec::new();
    for document in 0..200 {
        for (at, language) in languages.iter().enumerate() {
            let own = if [30, 31, 50].contains(&at) { language } else { "" };
            let url = format!("http://a.test/doc?id=c{}&lang={language}", document * 7919);
            rows.push((url, format!("{document} {own}")));
        }
    }
    let rules = mined(&rows).rules.into_iter();
    let auto: Vec<String> = rules
        .filter(|rule| rule.status == DustStatus::Auto)
        .map(|rule| rule.kind.title())
        .collect();
    assert_eq!(auto, [""; 0]);
}

#[test]
fn views_that_agree_are_one_page_however_many_are_seen() {
    for views in 2..6 {
        let rows: Vec<(String, String)> = (0..400)
            .flat_map(|page| {
                ["grid", "list", "table", "tree", "wall"][..views].iter().map(move |view| {
                    (format!("http://a.test/shop/{}?view={view}", page * 7919), page.to_string())
                })
            })
            .collect();
        let rules = mined(&rows).rules;
        let auto: Vec<String> = rules
            .iter()
            .filter(|rule| rule.status == DustStatus::Auto)
            .map(|rule| rule.kind.title())
            .collect();
        assert_eq!(auto, ["drop-param view"], "{views}");
    }
}

/// Pages by number, and members of a club by name, so few that each is a handler of its own; all in
/// two tabs. Members that `differ` have two pages, in each of the `languages`.
fn club(
    members: usize,
    languages: &[&str],
    differ: fn(usize) -> bool,
) -> Vec<(String, i64, String)> {
    let mut rows = Vec::new();
    for tab in ["a", "b"] {
        rows.extend((0..300usize).map(|page| {
            row(format!("page/{}?tab={tab}", page * 7919), page, format!("page {page}"))
        }));
        for member in 0..members {
            let name = [member / 8, member % 8].map(|at| b"abdefgik"[at] as char);
            let name: String = name.into_iter().flat_map(|letter| [letter, 'o']).collect();
            let own = if differ(member) { tab } else { "" };
            rows.extend(languages.iter().map(|language| {
                let url = format!("club/{name}?l={language}&tab={tab}");
                row(url, member, format!("{member} {language} {own}"))
            }));
        }
    }
    rows
}

#[test]
fn pages_by_name_speak_together() {
    let on_pages = ("drop-param tab".to_string(), "/page/{num}".to_string(), Vec::new());
    for members in [10, 40] {
        let rows = club(members, &["de"], |_| true);
        assert_eq!(in_force(&rows), std::slice::from_ref(&on_pages), "{members}");
    }
}

#[test]
fn what_matters_to_some_by_name_may_matter_to_the_next() {
    let rows = club(50, &["de", "en", "es", "fr", "it"], |member| member % 5 == 0);
    let on_pages = ("drop-param tab".to_string(), "/page/{num}".to_string(), Vec::new());
    assert_eq!(in_force(&rows), [on_pages]);
    // About one of them, the others say nothing.
    let rows = club(50, &["de", "en", "es", "fr", "it"], |member| member == 5);
    let but_one = ("drop-param tab".to_string(), String::new(), vec!["/club/aogo".to_string()]);
    assert_eq!(in_force(&rows), [but_one]);
}

#[test]
fn a_listed_name_may_matter_to_one_script() {
    let listed = "utm_source";
    let mut rows = Vec::new();
    for visit in ["mail", "feed"] {
        for page in 0..100usize {
            let url = format!("page/{}?{listed}={visit}", page * 7919);
            rows.push(row(url, page, page.to_string()));
        }
    }
    assert_eq!(in_force(&rows), [(format!("drop-param {listed}"), String::new(), vec![])]);
    for visit in ["mail", "feed"] {
        for of in 0..20usize {
            let url = format!("statistics.php?month={of}&{listed}={visit}");
            rows.push(row(url, of, format!("{visit} in month {of}")));
        }
    }
    let on_pages = (format!("drop-param {listed}"), "/page/{num}".to_string(), vec![]);
    assert_eq!(in_force(&rows), [on_pages]);
}

/// A number of 32 digits, as sessions have.
fn session(of: usize) -> String {
    format!("{:016x}{:016x}", mix(of as u64), mix(!of as u64))
}

#[test]
fn a_name_that_is_a_session_here_is_a_story_there() {
    for first in ["a", "z"] {
        let mut rows = Vec::new();
        for page in 0..40 {
            for visit in 0..3 {
                let sid = session(page * 3 + visit);
                rows.push(row(format!("{first}?doc={page}x&sid={sid}"), page, format!("{page}")));
            }
        }
        for story in 0..1000 {
            rows.push(row(format!("story?sid={story}"), story, format!("story {story}")));
        }
        let auto = in_force(&rows);
        let is_kept = |path: &String, except: &[String]| match path.is_empty() {
            true => except == ["/story"],
            false => *path == format!("/{first}"),
        };
        assert!(auto.iter().all(|(_, path, except)| is_kept(path, except)), "{auto:?}");
        assert_eq!(auto.len(), 1, "{first}");
    }
}

#[test]
fn sizes_do_not_say_that_a_listed_name_is_one_everywhere() {
    let mut rows: Vec<(String, u64)> = Vec::new();
    for story in 0..200usize {
        rows.push((format!("http://a.test/modules.php?sid={story}"), mix(story as u64) % 90_000));
    }
    // Many handlers, each with its sessions.
    for script in 0..40usize {
        let name: String =
            [b'a' + (script / 8) as u8, b'k' + (script % 8) as u8].map(char::from).iter().collect();
        for visit in 0..66 {
            let sid = session(script * 100 + visit);
            rows.push((
                format!("http://a.test/{name}?doc=d{}&sid={sid}", visit % 22),
                5000 + (script * 22 + visit % 22) as u64,
            ));
        }
    }
    let seen: Vec<Observation<'_>> = rows
        .iter()
        .map(|(url, size)| Observation {
            url: url.as_bytes(),
            status: Some(200),
            size: Some(*size),
            ..Observation::default()
        })
        .collect();
    let rules = Miner::new().mine("a.test", &seen).rules;
    let auto: Vec<_> = rules.iter().filter(|rule| rule.status == DustStatus::Auto).collect();
    assert_eq!(auto.len(), 1, "{rules:?}");
    assert_eq!(
        (auto[0].kind.title(), &*auto[0].scope.except),
        ("drop-param sid".to_string(), &["/modules.php".to_string()][..])
    );
}

/// Pages under one script, each seen by three visitors with tags of their own.
fn tagged() -> Vec<(String, i64, String)> {
    let each = (0..60usize).flat_map(|page| {
        (0..3).map(move |visit| {
            let tag = mix((page * 3 + visit) as u64) % 900_000 + 100_000;
            row(format!("index.php?mod=k{page}&tag={tag}"), page, format!("page {page}"))
        })
    });
    each.collect()
}

/// Pages of a gallery, which a tag distinguishes where the query goes on with this.
fn gallery(rest: &str, pages: usize) -> Vec<(String, i64, String)> {
    let each = (0..pages).map(|page| {
        let tag = mix(1 << 32 | page as u64) % 900_000 + 100_000;
        row(format!("index.php?{rest}tag={tag}"), page, format!("picture {page}"))
    });
    each.collect()
}

#[test]
fn many_pages_that_would_be_one_are_not_one_sample() {
    assert_eq!(in_force(&tagged()), [("drop-param tag".to_string(), String::new(), vec![])]);
    for (rest, pages) in [("mod=gallery&", 2000), ("", 2000), ("mod=gallery&", 100), ("", 20)] {
        let rows = [tagged(), gallery(rest, pages)].concat();
        assert_eq!(in_force(&rows), [], "{rest} {pages}");
    }
    let twice = (0..80).map(|page| {
        let tags = format!("tag=t{}&tag=u{page}", mix(1 << 33 | page as u64));
        row(format!("index.php?mod=m&{tags}"), page, format!("picture {page}"))
    });
    assert_eq!(in_force(&tagged().into_iter().chain(twice).collect::<Vec<_>>()), []);
}

#[test]
fn a_page_that_changes_is_one_of_many_visits() {
    let mut rows = tagged();
    // No two visitors see the same content, except on the same day.
    rows.extend((0..40usize).map(|visit| {
        let tag = mix(1 << 34 | visit as u64) % 900_000 + 100_000;
        let day = visit / 4;
        row(format!("index.php?mod=home&tag={tag}"), day * 86_400 + visit, format!("home {day}"))
    }));
    assert_eq!(in_force(&rows), [("drop-param tag".to_string(), String::new(), vec![])]);
}

#[test]
fn scripts_that_name_pages_are_kept_out_however_many() {
    let mut rows = Vec::new();
    for page in 0..700usize {
        for visit in 0..3 {
            let mark = mix((page * 3 + visit) as u64) % 900_000 + 100_000;
            rows.push(row(format!("doc?n=x{page}y&h={mark}"), page, format!("page {page}")));
        }
    }
    for script in 0..20usize {
        let name = [b'a' + (script / 5) as u8, b'k' + (script % 5) as u8].map(char::from);
        for file in 0..90usize {
            let mark = mix((9000 + script * 90 + file) as u64) % 900_000 + 100_000;
            let url = format!("{}{}o?h={mark}", name[0], name[1]);
            rows.push(row(url, file, format!("file {script} {file}")));
        }
    }
    let found = in_force(&rows);
    let [(title, path, except)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(title, "drop-param h");
    assert!(path == "/doc" || except.len() == 20, "{path} {except:?}");
}
