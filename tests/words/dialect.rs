//! Phrases that must not occur, each with what to write instead.

/// A phrase, and what says the same in plain English.
pub(crate) struct Phrase {
    /// Its words; `*` stands for any one word, `a|b` for either of two, `!there` for any word but `there`.
    pub(crate) words: &'static str,
    /// What to write instead.
    pub(crate) instead: &'static str,
}

const fn phrase(words: &'static str, instead: &'static str) -> Phrase {
    Phrase { words, instead }
}

/// All of them.
const PHRASES: &[Phrase] = &[
    phrase(
        "told|tell|tells|telling",
        "report, print, show; reported, measured",
    ),
    phrase(
        "so many|much|few",
        "a number: N, SIZE, TIME, 'a given number of'",
    ),
    phrase(
        "is|are|was none",
        "say what is missing: 'not set', 'not known', 'must be 0'",
    ),
    phrase(
        "nobody|somebody|anybody|whoever",
        "the actor, or the passive: 'opened by another process'",
    ),
    phrase("what there is", "its name"),
    phrase("there is to see", "its name: 'all charts'"),
    phrase("what is wanted", "its name"),
    phrase("all else", "the things by name: 'all other charts'"),
    phrase(
        "hand|hands|handed|handing over",
        "submit, submitted, submission",
    ),
    phrase("upwards", "'the y axis'"),
    phrase("to the right when|what|how", "'the x axis'"),
    phrase(
        "become|becomes|became|becoming of",
        "outcome, generated, completed",
    ),
    phrase("like this", "'matching PATTERN', or its name"),
    phrase("such as this", "'matching PATTERN', or its name"),
    phrase("borne|endured|endures", "allowed, tolerated"),
    phrase("bear|bears", "sustain, tolerate"),
    phrase(
        "take|takes|took the place of",
        "replaces, overrides, instead of",
    ),
    phrase("papers|paper have|has it", "'as in AUTHOR (YEAR)'"),
    phrase("in the mean", "on average"),
    phrase("be had", "be available, be installed, be created"),
    phrase("beforehand", "in advance"),
    phrase("all the same", "anyway"),
    phrase(
        "the stronger|more|less the more|less|stronger",
        "'darker means more'",
    ),
    phrase("left alone", "skipped, unchanged"),
    phrase("is|are there already", "already exists"),
    phrase("take|takes another", "choose another, use another"),
    phrase("made again", "generated again"),
    phrase(
        "!there is|was no answer|drive|experiment|file|folder|format|host|key|list|load|log|multiple|number|object|percentile|profile|range|record|row|table|target|text|time|trace",
        "'is not a ...'",
    ),
];

/// Texts in which a phrase is right, and which part of it.
const RIGHT: &[(&str, &str)] = &[("cannot tell", "the name of a verdict")];

/// The words of `text`, in lower case, without punctuation. A code span is no word: it is a mark between words.
pub(crate) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            words.push("`".to_owned());
            continue;
        }
        words.extend(
            part.split(|character: char| !character.is_alphanumeric() && character != '\'')
                .filter(|word| !word.is_empty())
                .map(|word| word.trim_end_matches("'s").to_lowercase()),
        );
    }
    words
}

/// The phrases that occur in `text`.
pub(crate) fn found_in(text: &str) -> Vec<&'static Phrase> {
    let text = RIGHT.iter().fold(text.to_lowercase(), |text, (right, _)| {
        text.replace(right, " ")
    });
    let words = words(&text);
    PHRASES
        .iter()
        .filter(|phrase| occurs(phrase.words, &words))
        .collect()
}

fn occurs(phrase: &str, words: &[String]) -> bool {
    let pattern: Vec<&str> = phrase.split(' ').collect();
    words.windows(pattern.len()).any(|window| {
        window
            .iter()
            .zip(&pattern)
            .all(|(word, wanted)| is_word(word, wanted))
    })
}

fn is_word(word: &str, wanted: &str) -> bool {
    match wanted.strip_prefix('!') {
        Some(other) => word != other,
        None => wanted == "*" || wanted.split('|').any(|either| either == word),
    }
}
