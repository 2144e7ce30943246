//! Phrases that must not occur, each with what to write instead.

/// A phrase, and what says the same in plain English.
pub(crate) struct Phrase {
    /// Its words; `*` stands for any one word, `a|b` for either of two.
    pub(crate) words: &'static str,
    /// What to write instead.
    pub(crate) instead: &'static str,
}

const fn phrase(words: &'static str, instead: &'static str) -> Phrase {
    Phrase { words, instead }
}

/// All of them.
const PHRASES: &[Phrase] = &[phrase("told|tell|tells", "report, print, show")];

/// The words of `text`, in lower case, without punctuation.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split(|character: char| !character.is_alphanumeric() && character != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The phrases that occur in `text`.
pub(crate) fn found_in(text: &str) -> Vec<&'static Phrase> {
    let words = words(text);
    PHRASES
        .iter()
        .filter(|phrase| {
            let pattern: Vec<&str> = phrase.words.split(' ').collect();
            words.windows(pattern.len()).any(|window| {
                window.iter().zip(&pattern).all(|(word, wanted)| {
                    *wanted == "*" || wanted.split('|').any(|either| either == word)
                })
            })
        })
        .collect()
}
