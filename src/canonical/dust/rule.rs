//! What a rule of a single site says.

/// A rule file: rules, what they may never touch, and what was only noticed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleFile {
    /// Where the rules come from: names and values for people, such as the miner's version, its
    /// input and its thresholds.
    pub about: std::collections::BTreeMap<String, String>,
    /// The rules.
    pub rules: Vec<DustRule>,
    /// Parameters that matter.
    pub guards: Vec<Guard>,
    /// What looks like a trap for crawlers.
    pub traps: Vec<Trap>,
}

/// A rule that holds for one site: different URLs of it with similar text.
#[derive(Clone, Debug, PartialEq)]
pub struct DustRule {
    /// A host, in canonical form; its subdomains are included. Mostly a registrable domain.
    pub site: String,
    /// Only these hosts of the site; empty: all.
    pub hosts: Vec<String>,
    /// Where on the site it holds.
    pub scope: RuleScope,
    /// What it does.
    pub kind: DustKind,
    /// Is it in force?
    pub status: DustStatus,
    /// The evidence for it. `None`: it was written by hand.
    pub evidence: Option<Evidence>,
    /// For people.
    pub note: String,
}

/// Which URLs of a site a rule is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleScope {
    /// A pattern of the path, such as `/shop/*` or `/item/{num}`; empty or `*`: every path. See
    /// `docs/rules-format.md` for the patterns.
    pub path: String,
    /// Patterns of paths that are excepted.
    pub except: Vec<String>,
    /// All of these must hold.
    pub when: Vec<DustCondition>,
}

/// A condition of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DustCondition {
    /// `param=value`: a query parameter has this value.
    Has {
        /// The parameter.
        param: String,
        /// Its value.
        value: String,
    },
    /// `!param`: a query parameter is not there.
    Lacks(String),
    /// `host=name`: the host is just this one.
    Host(String),
}

/// The step at which a rule is applied: those of an earlier one go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stratum {
    /// Hosts, schemes and ports are replaced.
    Hosts,
    /// Segments and path parameters are dropped.
    Segments,
    /// Starts, ends, segments and letters of paths are replaced.
    Paths,
    /// Path and parameters are rewritten together.
    Templates,
    /// Parameters are dropped.
    Parameters,
    /// Values of parameters are replaced.
    Values,
    /// Parameters are sorted.
    Order,
    /// Text is replaced wherever it is.
    Substitutions,
}

/// What a rule does. Names and values are spelled as in a canonical URL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DustKind {
    /// `host-alias`: a host, a scheme or a port that is the same as another: `from` and `to` are
    /// both a host (`m.x.org`), both a scheme (`http:`) or both a port (`:8080`; `:` is the
    /// scheme's own).
    HostAlias {
        /// What is replaced.
        from: String,
        /// What stands for it.
        to: String,
    },
    /// `drop-segment`: path segments of this pattern say nothing, such as `(S({*}))` or `{hex:32}`;
    /// the empty one drops what is between two slashes.
    DropSegment {
        /// A pattern of one segment.
        segment: String,
    },
    /// `drop-segment` with `param`: the path parameter `;param=…` says nothing.
    DropPathParam {
        /// Its name, without regard to case.
        param: String,
    },
    /// `alias-prefix`: what paths start with.
    AliasPrefix {
        /// Starts with a slash.
        from: String,
        /// Starts with a slash.
        to: String,
    },
    /// `alias-segment`: whole segments of a path.
    AliasSegment {
        /// The segment, without slashes.
        from: String,
        /// What stands for it; empty: the segment goes.
        to: String,
    },
    /// `alias-suffix`: what paths end with. Text that starts with a dot or a slash is taken as it
    /// is; other text is a whole last segment.
    AliasSuffix {
        /// Such as `index.html`, `.htm` or `/`.
        from: String,
        /// Such as nothing, or `.html`.
        to: String,
    },
    /// `fold-case`: the case of letters says nothing, in the path or in a parameter's value.
    FoldCase {
        /// The parameter; `None`: the path.
        param: Option<String>,
    },
    /// `rewrite-template`: path and parameters in another form, such as `/story?id={1}` as
    /// `/story_{1}`. Other parameters stay.
    RewriteTemplate {
        /// A path, and parameters after a `?`; `{1}` or `{1:num}` are captures.
        from: String,
        /// The same; with the same captures.
        to: String,
    },
    /// `drop-param`: a query parameter that says nothing.
    DropParam {
        /// Its name; a `*` at the end matches any rest.
        param: String,
    },
    /// `keep-only`: all query parameters but these say nothing.
    KeepOnly {
        /// Their names.
        params: Vec<String>,
    },
    /// `default-param`: a query parameter with this value is the same as none, unless it is there
    /// with another value as well.
    DefaultParam {
        /// Its name.
        param: String,
        /// Its default.
        value: String,
    },
    /// `constant-page`: no parameter says anything, but those that `when` asks for.
    ConstantPage,
    /// `alias-value`: values of a query parameter that are the same.
    AliasValue {
        /// The parameter.
        param: String,
        /// The value that is replaced.
        from: String,
        /// What stands for it.
        to: String,
    },
    /// `order-free`: the order of query parameters says nothing.
    OrderFree,
    /// `substitute`: text of path and query, wherever it stands. Written by hand.
    Substitute {
        /// The text.
        from: String,
        /// What stands for it; smaller, see `docs/rules-format.md`.
        to: String,
    },
}

/// Is a rule in force?
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum DustStatus {
    /// Learned, and in force.
    Auto,
    /// Learned, and should be reviewed before it is used.
    Review,
    /// Not in force.
    Off,
    /// Written or confirmed by hand, and in force.
    #[default]
    Manual,
}

/// What was measured about a learned rule.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Evidence {
    /// Groups of URLs, equal but for what the rule is about, whose pages were the same.
    pub ok: u64,
    /// All groups that were looked at.
    pub groups: u64,
    /// Lower bound of the share of groups that agree, from 0 to 1.
    pub bound: f64,
    /// What contents were told apart by: `digest`, `canonical-link`, `size` or
    /// [`none`](Evidence::NO_SIGNAL). Any other text is kept as it is.
    pub signal: String,
    /// URLs that the rule changes and that became equal to another one, in what it was learned
    /// from; with all rules of the site applied, so that one URL may count for several of them.
    pub gain_urls: u64,
    /// Pages that are expected to be lost, per million URLs.
    pub loss_per_million: f64,
    /// Upper bound of that.
    pub loss_bound_per_million: f64,
    /// Pairs of URLs that the rule makes equal.
    pub examples: Vec<(String, String)>,
}

impl Evidence {
    /// The signal of what was learned where nothing told contents apart.
    pub const NO_SIGNAL: &str = "none";
}

/// A parameter that matters: no rule drops or changes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Guard {
    /// A host; its subdomains are included.
    pub site: String,
    /// A pattern of the path; empty: every path.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The parameter.
    pub param: String,
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// What looks like a trap for crawlers; reported, never a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Trap {
    /// A host; its subdomains are included.
    pub site: String,
    /// What kind of trap: `path-repeat`, `calendar`, ….
    pub kind: String,
    /// A pattern or an example of its paths.
    pub path: String,
    /// URLs in it.
    #[serde(default)]
    pub urls: u64,
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Evidence {
    /// The same without examples.
    pub(super) fn without_examples(&self) -> Evidence {
        Evidence { signal: self.signal.clone(), examples: Vec::new(), ..*self }
    }
}

impl DustRule {
    /// What it does, and where, with this `evidence` and without a note.
    pub(crate) fn with_evidence(&self, evidence: Option<Evidence>) -> DustRule {
        DustRule {
            site: self.site.clone(),
            hosts: self.hosts.clone(),
            scope: self.scope.clone(),
            kind: self.kind.clone(),
            status: self.status,
            evidence,
            note: String::new(),
        }
    }

    /// The rule `kind` for all of `site`, in force, as if written by hand.
    pub fn new(site: impl Into<String>, kind: DustKind) -> DustRule {
        DustRule {
            site: site.into(),
            hosts: Vec::new(),
            scope: RuleScope::default(),
            kind,
            status: DustStatus::Manual,
            evidence: None,
            note: String::new(),
        }
    }

    /// The rule in one line, such as `x.org: drop-param sid at /shop/* when a=1`. Not escaped.
    pub fn title(&self) -> String {
        let mut text = format!("{}: {}", self.site, self.kind.title());
        if !self.hosts.is_empty() {
            text.push_str(&format!(" on {}", self.hosts.join(", ")));
        }
        if !matches!(self.scope.path.as_str(), "" | "*") {
            text.push_str(&format!(" at {}", self.scope.path));
        }
        if !self.scope.except.is_empty() {
            text.push_str(&format!(" except {}", self.scope.except.join(", ")));
        }
        if !self.scope.when.is_empty() {
            let when: Vec<String> = self.scope.when.iter().map(DustCondition::to_string).collect();
            text.push_str(&format!(" when {}", when.join(" and ")));
        }
        text
    }
}

impl DustStatus {
    /// `auto`, `review`, `off` or `manual`.
    pub fn name(self) -> &'static str {
        match self {
            DustStatus::Auto => "auto",
            DustStatus::Review => "review",
            DustStatus::Off => "off",
            DustStatus::Manual => "manual",
        }
    }

    /// Are rules of this status applied?
    pub fn is_in_force(self) -> bool {
        matches!(self, DustStatus::Auto | DustStatus::Manual)
    }
}

impl DustKind {
    /// The kind's name in rule files.
    pub fn name(&self) -> &'static str {
        match self {
            DustKind::HostAlias { .. } => "host-alias",
            DustKind::DropSegment { .. } | DustKind::DropPathParam { .. } => "drop-segment",
            DustKind::AliasPrefix { .. } => "alias-prefix",
            DustKind::AliasSegment { .. } => "alias-segment",
            DustKind::AliasSuffix { .. } => "alias-suffix",
            DustKind::FoldCase { .. } => "fold-case",
            DustKind::RewriteTemplate { .. } => "rewrite-template",
            DustKind::DropParam { .. } => "drop-param",
            DustKind::KeepOnly { .. } => "keep-only",
            DustKind::DefaultParam { .. } => "default-param",
            DustKind::ConstantPage => "constant-page",
            DustKind::AliasValue { .. } => "alias-value",
            DustKind::OrderFree => "order-free",
            DustKind::Substitute { .. } => "substitute",
        }
    }

    /// The step at which rules of this kind are applied.
    pub fn stratum(&self) -> Stratum {
        match self {
            DustKind::HostAlias { .. } => Stratum::Hosts,
            DustKind::DropSegment { .. } | DustKind::DropPathParam { .. } => Stratum::Segments,
            DustKind::AliasPrefix { .. }
            | DustKind::AliasSegment { .. }
            | DustKind::AliasSuffix { .. }
            | DustKind::FoldCase { param: None } => Stratum::Paths,
            DustKind::RewriteTemplate { .. } => Stratum::Templates,
            DustKind::DropParam { .. }
            | DustKind::KeepOnly { .. }
            | DustKind::DefaultParam { .. }
            | DustKind::ConstantPage => Stratum::Parameters,
            DustKind::AliasValue { .. } | DustKind::FoldCase { param: Some(_) } => Stratum::Values,
            DustKind::OrderFree => Stratum::Order,
            DustKind::Substitute { .. } => Stratum::Substitutions,
        }
    }

    /// The kind with what it is about, such as `drop-param sid`. Not escaped.
    pub fn title(&self) -> String {
        let name = self.name();
        let or_nothing = |text: &str| match text {
            "" => "(nothing)".to_string(),
            text => text.to_string(),
        };
        match self {
            DustKind::HostAlias { from, to }
            | DustKind::AliasPrefix { from, to }
            | DustKind::AliasSegment { from, to }
            | DustKind::AliasSuffix { from, to }
            | DustKind::RewriteTemplate { from, to }
            | DustKind::Substitute { from, to } => format!("{name} {from} = {}", or_nothing(to)),
            DustKind::DropSegment { segment } => format!("{name} {}", or_nothing(segment)),
            DustKind::DropPathParam { param } => format!("{name} ;{param}="),
            DustKind::FoldCase { param: None } => format!("{name} of the path"),
            DustKind::FoldCase { param: Some(param) } => format!("{name} of {param}"),
            DustKind::DropParam { param } => format!("{name} {param}"),
            DustKind::KeepOnly { params } => format!("{name} {}", or_nothing(&params.join(", "))),
            DustKind::DefaultParam { param, value } => format!("{name} {param}={value}"),
            DustKind::AliasValue { param, from, to } => {
                format!("{name} {param}: {} = {}", or_nothing(from), or_nothing(to))
            }
            DustKind::ConstantPage | DustKind::OrderFree => name.to_string(),
        }
    }
}

impl std::fmt::Display for DustCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DustCondition::Has { param, value } => write!(f, "{param}={value}"),
            DustCondition::Lacks(param) => write!(f, "!{param}"),
            DustCondition::Host(host) => write!(f, "host={host}"),
        }
    }
}
