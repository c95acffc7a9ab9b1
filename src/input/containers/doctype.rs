//! Where the document type of an XML document ends, such as `<!DOCTYPE urlset [ … ]>`.
//!
//! It may have declarations in brackets; quotes, comments and processing instructions may contain
//! anything. The recognition of sitemaps and their parser both use this, so that they agree.
//! Source: XML 1.0, fifth edition, 2.5, 2.6 and 2.8.

/// Looks for the end of a document type, whose bytes may come in pieces.
#[derive(Debug, Default)]
pub(super) struct DocumentType {
    within: Within,
    brackets: u64,
}

/// What the next byte is in.
#[derive(Clone, Copy, Debug, Default)]
enum Within {
    #[default]
    Markup,
    /// The start of `<!--` or of `<?`, of which this many bytes were seen.
    Start(u8),
    /// Between quotes of this kind.
    Quotes(u8),
    /// In a comment, after this many dashes, at most two.
    Comment(u8),
    /// In a processing instruction; was the last byte a `?`?
    Instruction(bool),
}

impl DocumentType {
    /// How many bytes of `text` belong to the document type, if it ends there. `text` continues
    /// after its first `<`.
    pub(super) fn end(&mut self, text: &[u8]) -> Option<usize> {
        text.iter().position(|byte| self.ends_with(*byte)).map(|at| at + 1)
    }

    /// Takes the next byte. Is it the last one of the document type?
    fn ends_with(&mut self, byte: u8) -> bool {
        self.within = match (self.within, byte) {
            (Within::Quotes(open), _) if byte != open => return false,
            (Within::Quotes(_), _) => Within::Markup,
            (Within::Comment(2), b'>') => Within::Markup,
            (Within::Comment(dashes), b'-') => Within::Comment(2.min(dashes + 1)),
            (Within::Comment(_), _) => Within::Comment(0),
            (Within::Instruction(true), b'>') => Within::Markup,
            (Within::Instruction(_), _) => Within::Instruction(byte == b'?'),
            (Within::Start(1), b'?') => Within::Instruction(false),
            (Within::Start(1), b'!') => Within::Start(2),
            (Within::Start(2), b'-') => Within::Start(3),
            (Within::Start(3), b'-') => Within::Comment(0),
            (Within::Start(_) | Within::Markup, _) => match byte {
                b'<' => Within::Start(1),
                b'"' | b'\'' => Within::Quotes(byte),
                b'>' if self.brackets == 0 => return true,
                _ => {
                    self.brackets += u64::from(byte == b'[');
                    self.brackets = self.brackets.saturating_sub(u64::from(byte == b']'));
                    Within::Markup
                }
            },
        };
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends() {
        for (given, why) in [
            ("!DOCTYPE urlset>", "a name alone"),
            ("!DOCTYPE urlset PUBLIC '-//a>b//' \"'>\">", "quotes"),
            ("!DOCTYPE urlset [<!ENTITY y '>]'>]>", "a declaration"),
            ("!DOCTYPE urlset [<!ENTITY y \"<!--\">]>", "no comment between quotes"),
            ("!DOCTYPE urlset [<!-- it's ]> -- > ->-->]>", "a comment"),
            ("!DOCTYPE urlset [<!--a---->]>", "many dashes"),
            ("!DOCTYPE urlset [<!---->]>", "an empty comment"),
            ("!DOCTYPE urlset [<!-- a -->'>]>'] >", "quotes behind a comment"),
            ("!DOCTYPE urlset [<!-'>]>'>]>", "no comment"),
            ("!DOCTYPE urlset [<?x it's ]> ? > ??>]>", "an instruction"),
            ("!DOCTYPE urlset ]]>", "brackets that nothing opens"),
        ] {
            let text = format!("{given}<urlset>it's</urlset>");
            for cut in 0..=text.len() {
                let mut found = DocumentType::default();
                let (first, second) = text.as_bytes().split_at(cut);
                let end = found.end(first);
                let end = end.or_else(|| found.end(second).map(|end| cut + end));
                assert_eq!(end, Some(given.len()), "{why}, cut at {cut}");
            }
            let short = &given.as_bytes()[..given.len() - 1];
            assert_eq!(DocumentType::default().end(short), None, "{why}, without its end");
        }
    }
}
