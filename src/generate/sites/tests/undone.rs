//! The test that knows every rule of a site: undoing all spellings gives the pages, and only them.

use std::collections::HashMap;

use super::super::layout::Layout;
use super::super::{Feature, FeatureKind, Noise, Sites, SitesPlan};

/// Undoes every spelling that does not depend on the state of the site.
fn undone(layout: &Layout, url: &str) -> String {
    let (names, front, catalog) = (&layout.names, &layout.front, &layout.catalog);
    let rest = url.split_once("://").unwrap().1;
    let at = rest.find(['/', '?']).unwrap();
    let (host, target) = rest.split_at(at);
    let is_sub = host.starts_with(&format!("{}.", names.sub_site));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = match path.strip_prefix("/(S(") {
        Some(rest) => rest.split_once("))").unwrap().1,
        None => path,
    };
    let mut path = path.split(";jsessionid=").next().unwrap().to_owned();
    if !path.starts_with("/v/") {
        path.make_ascii_lowercase();
    }
    let mut params: Vec<(String, String)> = query
        .split('&')
        .filter(|param| !param.is_empty())
        .map(|param| param.split_once('=').unwrap())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let stem = format!("/{}_", names.item.split('.').next().unwrap());
    if let Some(number) = path.strip_prefix(&stem) {
        params.push((names.item_param.into(), number.into()));
        path = format!("/{}", names.item);
    }
    if let Some(name) = path.strip_prefix("/~") {
        path = format!("/people/{name}");
    }
    if let Some(folder) = path.strip_suffix(names.index) {
        path = folder.into();
    }
    let last = path.rsplit('/').next().unwrap();
    if !last.is_empty() && !last.contains('.') {
        path.push('/');
    }
    let mut segments: Vec<&str> = path.split('/').collect();
    // No folder has the name of the one it lies in.
    while let &[.., first, second, ""] = &segments[..]
        && first == second
    {
        segments.remove(segments.len() - 2);
    }
    path = segments.join("/");
    if path.ends_with(".htm") {
        path.push('l');
    }
    let given: Vec<(&str, String)> =
        params.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let silent = front.silent(&given).map(|(_, name)| name);
    params.retain(|(name, value)| {
        let dropped = [
            names.session_param,
            names.ref_param,
            names.buster_param,
            names.return_param,
            names.print_param.0,
            names.highlight_param,
        ];
        let elsewhere = match () {
            () if path == format!("/{}", names.item) => name == names.list_param,
            () if path == format!("/{}", names.go) => name == names.item_param,
            () if path == format!("/{}", front.script) => silent == Some(name.as_str()),
            () if path == format!("/{}", front.chart_script) => silent == Some(name.as_str()),
            () if path == format!("/{}", catalog.desk_script) => catalog.is_silent(name),
            () => false,
        };
        let default = [(names.lang_param, "en"), (names.page_param, "1"), (names.start_param, "0")];
        !dropped.contains(&name.as_str())
            && !name.starts_with("utm_")
            && !elsewhere
            && !default.contains(&(name, value))
    });
    if path == format!("/{}", catalog.guide_script) {
        for (name, value) in &mut params {
            *value = catalog.usual(name, value).to_owned();
        }
    }
    params.sort();
    format!("{is_sub} {path} {params:?}")
}

#[test]
fn rules_of_the_site_give_its_pages() {
    let mut plan = SitesPlan { sites: 12, seed: 17, noise: Noise::NOISY, ..SitesPlan::default() };
    let of_state = [Feature::Limit, Feature::Sort, Feature::PageOverrun];
    for feature in Feature::all() {
        let percent = if feature.kind() == FeatureKind::Spelling { 60 } else { 90 };
        plan.chances.set(feature, if of_state.contains(&feature) { 0 } else { percent });
    }
    for (number, site) in Sites::new(&plan).unwrap().enumerate() {
        let layout = Layout::new(&plan, number as u32);
        let (mut pages, mut forms) = (HashMap::new(), HashMap::new());
        for capture in &site.captures {
            let form = undone(&layout, &capture.url);
            let page = *forms.entry(form.clone()).or_insert(capture.page);
            assert_eq!(page, capture.page, "{}: two pages in {form}", capture.url);
            let other = pages.entry(capture.page).or_insert(form.clone());
            assert_eq!(*other, form, "{}: one page in two forms", capture.url);
        }
        assert!(pages.len() > 500);
    }
}
