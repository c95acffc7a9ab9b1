//! The parameters of the rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::dust::DustRules;
use super::names::{DefaultParams, IndexNames, KeepParams, ParamNames, SessionNames};

/// What to do with a slash at the end of a path that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Slash {
    /// Leave it. The empty path still becomes `/`.
    Keep,
    /// Add it where the last segment has no dot.
    Add,
    /// Remove it.
    Remove,
}

impl Slash {
    /// As digests know it.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Slash::Keep => "Keep",
            Slash::Add => "Add",
            Slash::Remove => "Remove",
        }
    }
}

/// What to do with the host label `www`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Www {
    /// Remove it where a registrable domain remains.
    Remove,
    /// Add it to hosts that are a registrable domain.
    Add,
}

impl Www {
    /// As digests know it.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Www::Remove => "Remove",
            Www::Add => "Add",
        }
    }
}

/// Which scheme stands for both `http` and `https`; `ws` and `wss` go with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebScheme {
    /// The one without encryption.
    Http,
    /// The one with it.
    Https,
}

/// What to do with the dot at the end of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrailingDot {
    /// Drop it, if it is just one.
    Drop,
    /// Leave it.
    Keep,
}

/// The parameters of the rules.
#[derive(Clone, Debug)]
pub struct Options {
    /// Scheme for lines without one, or `None`: such lines do not parse.
    pub default_scheme: Option<String>,
    /// A host that ends in a number, but is no address, is a name (RFC 3986), not an error
    /// (WHATWG).
    pub registered_names: bool,
    /// `case`.
    pub trailing_dot: TrailingDot,
    /// `encoding`: one spelling for what parsers of forms and paths read alike, not only for what
    /// the WHATWG URL standard escapes.
    pub form_spelling: bool,
    /// `encoding`: `?a=` is `?a`. Only with `form_spelling`.
    pub empty_values: bool,
    /// `encoding`: hosts whose escapes are Latin-1 where they are not UTF-8.
    pub latin1_hosts: Vec<String>,
    /// `fragment`: keeps `#!` and `#/` routes.
    pub keep_routes: bool,
    /// `ip-host`: address to host name, both canonical.
    pub hosts: Arc<BTreeMap<String, String>>,
    /// `www`.
    pub www: Www,
    /// `scheme`.
    pub scheme: WebScheme,
    /// `session-ids`.
    pub sessions: Arc<SessionNames>,
    /// `params`: what goes.
    pub drop_params: Arc<ParamNames>,
    /// `params`: what stays, everything else goes.
    pub keep_params: Arc<KeepParams>,
    /// `default-params`.
    pub default_params: Arc<DefaultParams>,
    /// `directory-index`.
    pub index_names: Arc<IndexNames>,
    /// `trailing-slash`.
    pub slash: Slash,
    /// `dust`.
    pub dust: Arc<DustRules>,
}
