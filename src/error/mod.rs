//! The error of a job that could not be done.

mod setting;

use std::fmt;
use std::io;

use rustix::io::Errno;

pub use setting::Setting;

/// What a fallible function of this library returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a job was not done: one line that says where, what was expected, what was found, what to do.
///
/// Ask what it is about by [`Error::kind`] or [`Error::is_input`] and its siblings. Lines that
/// cannot be used are no errors; they are counted as [`Reject`](crate::reject::Reject).
///
/// Displayed, it names settings as they are called in this library. A program with names of its own
/// for them shows [`Error::in_words`].
pub struct Error {
    kind: ErrorKind,
    /// With the marks of settings.
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What an [`Error`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Something that was to be read is missing, damaged or not what it should be.
    Input,
    /// Something could not be written.
    Output,
    /// The arguments or the configuration ask for what does not exist or does not fit together.
    Config,
    /// A bound of [`limits`](crate::limits) or of the user was passed.
    Limit,
    /// The reader of the output has gone away. Not a failure for a command in a pipe.
    ClosedPipe,
    /// The caller has asked the job to stop, by the [`Stop`](crate::input::Stop) of its input.
    Cancelled,
    /// A promise of this library does not hold: a bug.
    Internal,
}

impl Error {
    #[cold]
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), source: None }
    }

    /// Something that was to be read is missing, damaged or not what it should be.
    #[cold]
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    /// Something could not be written.
    #[cold]
    pub fn output(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Output, message)
    }

    /// The user asked for something that does not exist or does not fit together.
    #[cold]
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    /// A bound of [`limits`](crate::limits) or of the user was passed.
    #[cold]
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    /// A promise of this library does not hold: a bug.
    #[cold]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Reading `what` failed with an error of the operating system or of a decoder.
    #[cold]
    pub fn reading(what: impl fmt::Display, error: io::Error) -> Self {
        let advice = advice(&error);
        let mut this = Self::new(ErrorKind::Input, format!("{what}: cannot read: {error}{advice}"));
        this.source = Some(Box::new(error));
        this
    }

    /// Writing `what` failed. A reader that has gone away becomes [`Error::is_closed_pipe`].
    #[cold]
    pub fn writing(what: impl fmt::Display, error: io::Error) -> Self {
        let mut this = match error.kind() {
            io::ErrorKind::BrokenPipe => {
                Self::new(ErrorKind::ClosedPipe, format!("{what} was closed before the end"))
            }
            _ => {
                let advice = advice(&error);
                Self::new(ErrorKind::Output, format!("{what}: cannot write: {error}{advice}"))
            }
        };
        this.source = Some(Box::new(error));
        this
    }

    /// The job was asked to stop before it was done.
    #[cold]
    pub(crate) fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "cancelled before the end of the input")
    }

    /// Puts `place` (a file, a line) before the message.
    #[cold]
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// Puts `more` after the message.
    #[cold]
    #[must_use]
    pub(crate) fn and(mut self, more: impl fmt::Display) -> Self {
        self.message = format!("{}; {more}", self.message);
        self
    }

    /// The message, with what `word` calls the settings in it.
    ///
    /// ```
    /// use undust::error::{Error, Setting};
    ///
    /// let error = Error::limit(format!("too many threads; lower {}", Setting::Threads));
    /// assert_eq!(error.to_string(), "too many threads; lower Job::threads");
    /// let told = error.in_words(|setting| match setting {
    ///     Setting::Threads => "--jobs",
    ///     other => other.in_library(),
    /// });
    /// assert_eq!(told, "too many threads; lower --jobs");
    /// ```
    pub fn in_words(&self, word: impl Fn(Setting) -> &'static str) -> String {
        let message = setting::in_words(&self.message, word);
        match self.kind {
            ErrorKind::Internal => format!("internal error, please report it: {message}"),
            _ => message,
        }
    }

    /// What it is about.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Is the input at fault?
    pub fn is_input(&self) -> bool {
        self.kind == ErrorKind::Input
    }

    /// Is the place written to at fault?
    pub fn is_output(&self) -> bool {
        self.kind == ErrorKind::Output
    }

    /// Are the arguments or the configuration at fault?
    pub fn is_config(&self) -> bool {
        self.kind == ErrorKind::Config
    }

    /// Was a bound passed?
    pub fn is_limit(&self) -> bool {
        self.kind == ErrorKind::Limit
    }

    /// Did the reader of the output go away? Not a failure for a command in a pipe.
    pub fn is_closed_pipe(&self) -> bool {
        self.kind == ErrorKind::ClosedPipe
    }
}

/// Has the process as many files open as it may?
pub(crate) fn is_too_many_files(error: &io::Error) -> bool {
    is_one_of(error, &[Errno::MFILE])
}

/// May the process write no larger file?
pub(crate) fn is_file_too_large(error: &io::Error) -> bool {
    is_one_of(error, &[Errno::FBIG])
}

fn is_one_of(error: &io::Error, errors: &[Errno]) -> bool {
    errors.iter().any(|one| error.raw_os_error() == Some(one.raw_os_error()))
}

/// What to do about an `error` of the system, where its words do not say it; with a semicolon in
/// front.
fn advice(error: &io::Error) -> &'static str {
    match error {
        _ if is_too_many_files(error) => "; allow the process more of them (ulimit -n)",
        _ if is_one_of(error, &[Errno::NOSPC, Errno::DQUOT]) => {
            "; make room there, or write to another disk"
        }
        _ if is_file_too_large(error) => {
            "; allow the process larger files (ulimit -f), or write to another disk"
        }
        _ => "",
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words(Setting::in_library))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as _)
    }
}
