//! The names that sites choose from: scripts, parameters, values, folders.
//!
//! A name means the same wherever a site uses it, unless a feature says otherwise: so no two lists
//! share a name. Some names are in the lists that the tool ships with, others are not: what is
//! known beforehand must not decide what can be learned.
//!
//! The order of the rows is part of the truth, as in `vocabulary.rs`.

/// Scripts that show an item.
pub(super) const ITEM_SCRIPTS: [&str; 6] =
    ["item.php", "product.php", "story.asp", "view.php", "showthread.php", "detail.jsp"];
/// Parameters with the number of an item.
pub(super) const ITEM_PARAMS: [&str; 6] = ["id", "pid", "item", "t", "nr", "number"];
/// Scripts that show a list.
pub(super) const LIST_SCRIPTS: [&str; 5] =
    ["list.php", "category.php", "browse.asp", "forumdisplay.php", "catalog.jsp"];
/// Parameters that choose the list.
pub(super) const LIST_PARAMS: [&str; 5] = ["cat", "category", "f", "group", "topic"];
/// Scripts that show the history of an entry.
pub(super) const HISTORY_SCRIPTS: [&str; 3] = ["history.php", "changes.asp", "log.php"];
/// Parameters that choose the entry.
pub(super) const HISTORY_PARAMS: [&str; 3] = ["title", "of", "entry"];
/// Parameters that limit the lines of a history.
pub(super) const LIMIT_PARAMS: [&str; 4] = ["limit", "max", "count", "show"];
/// Scripts that show files.
pub(super) const FILES_SCRIPTS: [&str; 3] = ["files.php", "uploads.php", "gallery.asp"];
/// Parameters that choose the folder of files.
pub(super) const FILES_PARAMS: [&str; 3] = ["dir", "folder", "album"];
/// Parameters that choose whose files are shown.
pub(super) const USER_PARAMS: [&str; 4] = ["user", "author", "owner", "member"];
/// Scripts that show a day.
pub(super) const CALENDAR_SCRIPTS: [&str; 3] = ["calendar.php", "events.php", "agenda.asp"];
/// Parameters that choose the day.
pub(super) const DATE_PARAMS: [&str; 3] = ["date", "day", "when"];
/// Scripts that show a document and count clicks.
pub(super) const GO_SCRIPTS: [&str; 3] = ["go.php", "read.php", "open.asp"];
/// Parameters that choose the document.
pub(super) const GO_PARAMS: [&str; 3] = ["doc", "document", "text"];
/// Scripts with the login form.
pub(super) const LOGIN_SCRIPTS: [&str; 3] = ["login.php", "signin.php", "auth.asp"];
/// Parameters that say where to return to.
pub(super) const RETURN_PARAMS: [&str; 4] = ["return", "next", "back", "returnto"];
/// Scripts for members.
pub(super) const MEMBERS_SCRIPTS: [&str; 3] = ["account.php", "messages.php", "orders.asp"];
/// Parameters that choose the member's page.
pub(super) const MEMBERS_PARAMS: [&str; 3] = ["m", "msg", "no"];
/// Parameters that choose the language.
pub(super) const LANG_PARAMS: [&str; 4] = ["lang", "hl", "language", "locale"];
/// Parameters that choose the order of a list.
pub(super) const SORT_PARAMS: [&str; 4] = ["sort", "order", "orderby", "by"];
/// Parameters with the number of a list's page.
pub(super) const PAGE_PARAMS: [&str; 3] = ["page", "p", "pg"];
/// Parameters with the number of a list's first entry.
pub(super) const START_PARAMS: [&str; 3] = ["start", "offset", "first"];
/// Parameters with a session number.
pub(super) const SESSION_PARAMS: [&str; 7] =
    ["sid", "PHPSESSID", "session", "osCsid", "zenid", "tk", "s"];
/// Parameters that say where the visitor came from.
pub(super) const REF_PARAMS: [&str; 6] = ["ref", "from", "src", "via", "origin", "wherefrom"];
/// Their values.
pub(super) const REF_VALUES: [&str; 12] = [
    "home", "nav", "footer", "sidebar", "top10", "related", "feed", "partner", "search", "mail",
    "banner", "tile",
];
/// Parameters that are new at each visit.
pub(super) const BUSTER_PARAMS: [&str; 6] = ["_", "rnd", "nocache", "ts", "cb", "z"];
/// Parameters that ask for the page to be printed, with their values.
pub(super) const PRINT_PARAMS: [(&str, &str); 4] =
    [("print", "1"), ("layout", "print"), ("printable", "yes"), ("media", "print")];
/// Parameters with words to be marked.
pub(super) const HIGHLIGHT_PARAMS: [&str; 3] = ["highlight", "mark", "words"];
/// Parameters with the number of a revision.
pub(super) const REVISION_PARAMS: [&str; 3] = ["rev", "oldid", "version"];

/// Front controllers.
pub(super) const FRONT_SCRIPTS: [&str; 4] = ["portal.php", "app.php", "site.asp", "content.jsp"];
/// Parameters that say what to do.
pub(super) const ACTION_PARAMS: [&str; 5] = ["action", "option", "module", "do", "mode"];
/// What there is to do.
pub(super) const ACTIONS: [&str; 8] =
    ["view", "browse", "show", "profile", "thread", "gallery", "wiki", "faq"];
/// Parameters with the number of what it is done to.
pub(super) const NUMBER_PARAMS: [&str; 3] = ["nid", "record", "object"];
/// Parameters that choose a part of a page where there are parts.
pub(super) const PANE_PARAMS: [&str; 4] = ["tab", "pane", "panel", "facet"];
/// Their values.
pub(super) const PANES: [&str; 6] = ["info", "notes", "photos", "links", "reviews", "people"];
/// Scripts that show figures.
pub(super) const CHART_SCRIPTS: [&str; 3] = ["chart.php", "figures.php", "stats.asp"];
/// Parameters that choose the figures.
pub(super) const CHART_PARAMS: [&str; 3] = ["series", "table", "dataset"];
/// Parameters that choose what the figures are compared with.
pub(super) const AGAINST_PARAMS: [&str; 3] = ["against", "compare", "overlay"];
/// Their values.
pub(super) const AGAINST: [&str; 4] = ["year", "mean", "region", "plan"];
/// Parameters that say how it is compared.
pub(super) const SCALE_PARAMS: [&str; 3] = ["scale", "axis", "unit"];
/// Their values.
pub(super) const SCALES: [&str; 6] = ["linear", "log", "percent", "index", "rank", "share"];

/// Scripts of a guide.
pub(super) const GUIDE_SCRIPTS: [&str; 3] = ["guide.php", "places.asp", "tour.jsp"];
/// Parameters that choose the place.
pub(super) const GUIDE_PARAMS: [&str; 3] = ["place", "town", "spot"];
/// Parameters that choose the edition.
pub(super) const EDITION_PARAMS: [&str; 4] = ["edition", "variant", "display", "units"];
/// Editions; the first two are one.
pub(super) const EDITIONS: [[&str; 4]; 6] = [
    ["en", "en-us", "de", "fr"],
    ["list", "rows", "map", "cards"],
    ["metric", "si", "imperial", "nautical"],
    ["full", "Full", "short", "abstract"],
    ["desktop", "default", "tablet", "phone"],
    ["html5", "html", "text", "rtf"],
];
/// Scripts with many parameters.
pub(super) const DESK_SCRIPTS: [&str; 3] = ["desk.php", "case.asp", "ticket.jsp"];
/// Parameters that choose the case.
pub(super) const DESK_PARAMS: [&str; 3] = ["case", "ticket", "job"];
/// Parameters that choose a part of it.
pub(super) const PART_PARAMS: [&str; 3] = ["part", "chapter", "sheet"];
/// Parts.
pub(super) const PARTS: [&str; 4] = ["summary", "files", "people", "costs"];
/// Parameters without effect.
pub(super) const SILENT_PARAMS: [&str; 32] = [
    "pos", "slot", "bnr", "bucket", "skin", "theme", "widget", "block", "channel", "promo",
    "teaser", "rail", "hint", "tip", "mood", "beta", "grade", "seen", "visit", "inlet", "crumb",
    "badge", "ribbon", "strip", "device", "touch", "font", "hue", "shade", "rev2", "exp", "arm",
];
/// Their values.
pub(super) const SILENT_VALUES: [&str; 8] =
    ["top", "left", "main", "blue", "red", "side", "old", "new"];

/// Languages other than the default.
pub(super) const LANGUAGES: [&str; 3] = ["de", "fr", "es"];
/// Orders of a list other than the default.
pub(super) const ORDERS: [&str; 3] = ["name", "date", "price"];
/// Limits of a history other than the default of 50.
pub(super) const LIMITS: [u32; 4] = [20, 100, 250, 500];
/// Pictures that lie in many folders.
pub(super) const PICTURES: [&str; 8] = [
    "logo.gif",
    "spacer.gif",
    "bullet.gif",
    "arrow.png",
    "line.gif",
    "button.png",
    "new.gif",
    "back.png",
];
/// Names of index pages.
pub(super) const INDEX_NAMES: [&str; 4] = ["index.html", "index.php", "default.asp", "index.htm"];
/// First labels of hosts that mirror another.
pub(super) const MIRRORS: [&str; 4] = ["www2", "mirror", "old", "web1"];
/// First labels of hosts with pages of their own.
pub(super) const SUB_SITES: [&str; 4] = ["blog", "en", "archive", "shop"];

/// All lists of parameter names.
#[cfg(test)]
pub(super) const PARAM_LISTS: [&[&str]; 31] = [
    &ITEM_PARAMS,
    &LIST_PARAMS,
    &HISTORY_PARAMS,
    &LIMIT_PARAMS,
    &FILES_PARAMS,
    &USER_PARAMS,
    &DATE_PARAMS,
    &GO_PARAMS,
    &RETURN_PARAMS,
    &MEMBERS_PARAMS,
    &LANG_PARAMS,
    &SORT_PARAMS,
    &PAGE_PARAMS,
    &START_PARAMS,
    &SESSION_PARAMS,
    &REF_PARAMS,
    &BUSTER_PARAMS,
    &HIGHLIGHT_PARAMS,
    &REVISION_PARAMS,
    &["print", "layout", "printable", "media"],
    &ACTION_PARAMS,
    &NUMBER_PARAMS,
    &PANE_PARAMS,
    &CHART_PARAMS,
    &AGAINST_PARAMS,
    &SCALE_PARAMS,
    &GUIDE_PARAMS,
    &EDITION_PARAMS,
    &DESK_PARAMS,
    &PART_PARAMS,
    &SILENT_PARAMS,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_parameter_has_one_meaning() {
        let names: Vec<&str> = PARAM_LISTS.iter().flat_map(|list| list.iter().copied()).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(!names.iter().any(|name| name.starts_with("utm_")));
    }

    #[test]
    fn a_script_has_one_meaning() {
        let lists: [&[&str]; 13] = [
            &ITEM_SCRIPTS,
            &LIST_SCRIPTS,
            &HISTORY_SCRIPTS,
            &FILES_SCRIPTS,
            &CALENDAR_SCRIPTS,
            &GO_SCRIPTS,
            &LOGIN_SCRIPTS,
            &MEMBERS_SCRIPTS,
            &INDEX_NAMES,
            &FRONT_SCRIPTS,
            &CHART_SCRIPTS,
            &GUIDE_SCRIPTS,
            &DESK_SCRIPTS,
        ];
        let names: Vec<&str> = lists.iter().flat_map(|list| list.iter().copied()).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        let stems: BTreeSet<&str> =
            ITEM_SCRIPTS.iter().map(|name| name.split_once('.').unwrap().0).collect();
        assert_eq!(stems.len(), ITEM_SCRIPTS.len(), "a template alias says which script it is");
    }
}
