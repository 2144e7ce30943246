//! The key in the URL.

use std::fs::File;
use std::io::{self, Read};

/// 128 random bits, in hexadecimal digits.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// A new one, from the kernel's generator.
    pub(crate) fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        Ok(Self(digits.collect()))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether it is the one that a viewer has sent. How long this takes does not depend on where they differ.
    pub(crate) fn is(&self, sent: &str) -> bool {
        let (own, sent) = (self.0.as_bytes(), sent.as_bytes());
        let differ = own.iter().zip(sent).fold(0, |all, (a, b)| all | (a ^ b));
        own.len() == sent.len() && differ == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_new_each_time_and_only_itself() {
        let [a, b] = [Token::random().unwrap(), Token::random().unwrap()];
        assert_eq!(a.text().len(), 32);
        assert!(a.is(a.text()) && !a.is(b.text()));
        for other in ["", &a.text()[..31], &format!("{}0", a.text())] {
            assert!(!a.is(other), "{other}");
        }
    }
}
