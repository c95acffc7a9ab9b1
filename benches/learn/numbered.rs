//! Sites whose sessions are numbers in paths, and some of whose folders name their pages by
//! such numbers, too.
//!
//! ```text
//! sessions   /4be1…/topic/7   /topic/7/4be1…   /topic/7;sid=4be1…     of 16 to 40 digits
//! names      /share/9c5f…   /img/9c5f…   /9c5f…   /files/9c5f…/raw   /9c5f…/board/7   /d/e/9c5f…
//! ```
//!
//! Sets are called `numbered`, or `numbered-30` where 30 % of the pages change from day to day.

use undust::bytes::split_mix;

use crate::Row;

/// Sites of one seed.
pub(crate) const SITES: u32 = 60;

/// Seconds of a day, and days in which a site is seen.
const DAY: u64 = 86_400;
const DAYS: u64 = 120;

const SCRIPTS: [&str; 7] =
    ["/topic/#", "/news/@", "/item_#.php", "/p/@.html", "/user/@", "/a/b/#", "/@"];
const FOLDERS: [&str; 9] = [
    "/share/H",
    "/sharex/H",
    "/img/H",
    "/files/H/raw",
    "/H/board/7",
    "/H/board/N",
    "/H",
    "/d/e/H",
    "/f/H",
];

/// Draws numbers.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        split_mix::next(&mut self.0)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Some of these, each once.
    fn some<T: Copy>(&mut self, of: &[T], fewest: usize, most: usize) -> Vec<T> {
        let mut rest = of.to_vec();
        let count = fewest + self.below(most + 1 - fewest);
        (0..count).map(|_| rest.swap_remove(self.below(rest.len()))).collect()
    }

    /// A number of so many hexadecimal digits.
    fn number(&mut self, digits: usize) -> String {
        let text: String = (0..3).map(|_| format!("{:016x}", self.next())).collect();
        text[..digits].to_string()
    }

    fn word(&mut self) -> String {
        let letter = |text: &[u8], draws: &mut Draws| char::from(draws.one(text));
        (0..4).flat_map(|_| [letter(b"bcdfglmnprst", self), letter(b"aeiou", self)]).collect()
    }
}

/// Where sessions are.
#[derive(Clone, Copy)]
enum Sessions {
    Front,
    End,
    Parameter(&'static str),
}

/// A site while it is visited.
struct Site {
    draws: Draws,
    host: String,
    digits: usize,
    sessions: Sessions,
    /// Of 100 pages so many change.
    changing: u64,
    pages: u64,
    rows: Vec<Row>,
}

/// The captures of a site: this one of a `seed`, on which so many pages of 100 are `changing`.
pub(crate) fn rows(seed: u64, site: u32, changing: u64) -> Vec<Row> {
    let mut draws = Draws(seed << 32 | u64::from(site));
    let sessions = match draws.below(4) {
        0 => Sessions::Parameter(draws.one(&["sid", "s", "zz", "id"])),
        _ => draws.one(&[Sessions::Front, Sessions::Front, Sessions::End]),
    };
    let digits = draws.one(&[16, 20, 24, 32, 32, 40]);
    let host = host(site);
    let mut one = Site { draws, host, digits, sessions, changing, pages: 0, rows: Vec::new() };
    for script in one.draws.some(&SCRIPTS, 2, 6) {
        for page in 0..one.draws.one(&[8, 30, 80, 200]) {
            let word = one.draws.word();
            one.visit_in_sessions(&script.replace('#', &page.to_string()).replace('@', &word), 5);
        }
    }
    one.visit_in_sessions("/", 30);
    for folder in one.draws.some(&FOLDERS, 1, 3) {
        for _ in 0..one.draws.one(&[2, 3, 5, 12, 30, 80]) {
            one.visit_by_name(folder);
        }
    }
    one.rows.sort_by_key(|row| row.time);
    one.rows
}

/// The host of a site.
pub(crate) fn host(site: u32) -> String {
    format!("s{site}.test")
}

impl Site {
    /// Visits a page once for each of some sessions, and at times without any.
    fn visit_in_sessions(&mut self, path: &str, most: usize) {
        self.pages += 1;
        for _ in 0..1 + self.draws.below(most) {
            let path = self.in_session(path);
            self.see(&path);
        }
        if self.draws.below(10) < 3 {
            self.see(path);
        }
    }

    fn in_session(&mut self, path: &str) -> String {
        let number = self.draws.number(self.digits);
        match self.sessions {
            Sessions::Front => format!("/{number}{path}"),
            Sessions::End => format!("{}/{number}", path.trim_end_matches('/')),
            Sessions::Parameter(name) => format!("{path};{name}={number}"),
        }
    }

    /// Visits a page that has a number for a name, some times, and seldom in a session.
    fn visit_by_name(&mut self, folder: &str) {
        self.pages += 1;
        let (number, board) = (self.draws.number(self.digits), 1 + self.draws.below(9));
        let path = match self.sessions {
            Sessions::Parameter(name) => {
                let folder = folder.replace("/H", "");
                format!("{};{name}={number}", if folder.is_empty() { "/z" } else { &folder })
            }
            _ => folder.replace('H', &number),
        };
        let path = path.replace('N', &board.to_string());
        for _ in 0..self.draws.one(&[1, 1, 1, 2, 3]) {
            self.see(&path);
        }
        if !matches!(self.sessions, Sessions::Parameter(_)) && self.draws.below(10) == 0 {
            let path = self.in_session(&path);
            self.see(&path);
        }
    }

    /// Captures the page that is being visited.
    fn see(&mut self, path: &str) {
        let time = self.draws.next() % (DAYS * DAY);
        let changes = Draws(self.pages).next() % 100 < self.changing;
        let version = if changes { time / DAY } else { 0 };
        self.rows.push(Row {
            url: format!("http://{}{path}", self.host),
            time: Some(time as i64),
            status: Some(200),
            digest: Some(format!("{}-{version}", self.pages)),
            mime: Some("text/html".to_string()),
            method: "GET",
            page: Some(self.pages),
            ..Row::default()
        });
    }
}
