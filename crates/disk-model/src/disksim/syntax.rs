//! The syntax of parameter files: words, values, lists, and blocks with names.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files that include others several times each grow without a bound.
const MOST_INCLUDED: usize = 1000;

/// A file and a line of it, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) path: Arc<Path>,
    pub(crate) line: usize,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.line)
    }
}

/// Why parameter files are no drive.
#[derive(Debug, thiserror::Error)]
pub enum DiskSimError {
    /// A file cannot be read.
    #[error("{}: cannot read the file: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An included file cannot be found.
    #[error(
        "{at}: cannot find '{name}': it is neither beside this file nor among the files that were given"
    )]
    NotFound {
        /// File and line.
        at: String,
        /// The file that is included.
        name: String,
    },
    /// A file includes itself.
    #[error("{at}: '{name}' is included by itself: remove the 'source' that leads back to it")]
    Cyclic {
        /// File and line.
        at: String,
        /// The file.
        name: String,
    },
    /// The text is not of this syntax.
    #[error("{at}: seen {seen}, expected {expected}")]
    Syntax {
        /// File and line.
        at: String,
        /// What is there.
        seen: String,
        /// What should be there.
        expected: &'static str,
    },
    /// A parameter is missing.
    #[error("{at}: block '{block}' has no parameter '{key}', expected {expected}")]
    Missing {
        /// File and line of the block.
        at: String,
        /// The block.
        block: String,
        /// The parameter.
        key: &'static str,
        /// What should be there.
        expected: &'static str,
    },
    /// A value is not one that the parameter can have.
    #[error("{at}: '{key}' is {seen}, expected {expected}")]
    Value {
        /// File and line.
        at: String,
        /// The parameter.
        key: String,
        /// Its value.
        seen: String,
        /// What would do.
        expected: String,
    },
    /// A value is right, but not simulated.
    #[error("{at}: '{key}' is {seen}, which is not simulated: {instead}")]
    Unsupported {
        /// File and line.
        at: String,
        /// The parameter.
        key: String,
        /// Its value.
        seen: String,
        /// What is.
        instead: &'static str,
    },
    /// There is no drive in the files.
    #[error("{}: there is no drive in it, expected a block disksim_disk or dm_disk", path.display())]
    NoDrive {
        /// The first file.
        path: PathBuf,
    },
    /// There are several drives, or none of the name that was asked for.
    #[error(
        "{}: {}, expected --disk with one of: {}", path.display(),
        name.as_ref().map_or_else(
            || "it is not clear which drive is meant".to_owned(),
            |name| format!("no drive has the name '{name}'"),
        ),
        known.join(", ")
    )]
    WhichDrive {
        /// The first file.
        path: PathBuf,
        /// The name that was asked for.
        name: Option<String>,
        /// Those of the drives in it.
        known: Vec<String>,
    },
    /// What was read makes no profile.
    #[error(transparent)]
    Profile(#[from] crate::ProfileError),
}

/// What deserves attention in a file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// File and line.
    pub at: String,
    /// The parameter or the block.
    pub key: String,
    /// What about it.
    pub about: WarningAbout,
}

/// What a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningAbout {
    /// DiskSim has no such parameter.
    Unknown,
    /// A block of this name was defined before; that one counts.
    DefinedBefore,
    /// It belongs to another type of seek.
    OtherSeekType,
    /// It has no effect although it is switched on: more than one request in the drive is simulated by rules of
    /// our own.
    OwnRules,
    /// The files do not say how long the bus takes, and no time was given.
    NoBus,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, key, about } = self;
        let about = match about {
            WarningAbout::Unknown => "DiskSim has no such parameter; it is ignored",
            WarningAbout::DefinedBefore => "it is defined twice; the first definition counts",
            WarningAbout::OtherSeekType => "it belongs to another seek type; it is ignored",
            WarningAbout::OwnRules => {
                "it has no effect: requests that wait in the drive follow the scheduler of the scenario"
            }
            WarningAbout::NoBus => {
                "the files do not include a .parv with the drive's bus: the bus takes no time beyond the bulk \
                 sector transfer time (see --bus-read-ms and --bus-write-ms)"
            }
        };
        write!(f, "{at}: '{key}': {about}")
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Int(i64),
    Float(f64),
    Word(String),
    List(Vec<Item>),
    Block(Arc<Block>),
    Topology(Arc<Topology>),
}

/// A value and where it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) value: Value,
    pub(crate) at: At,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Int(i) => write!(f, "{i}"),
            Value::Float(x) => write!(f, "{x}"),
            Value::Word(word) => write!(f, "'{word}'"),
            Value::List(items) => write!(f, "a list of {}", items.len()),
            Value::Block(block) => write!(f, "a block '{}'", block.kind),
            Value::Topology(topology) => write!(f, "a topology of '{}'", topology.name),
        }
    }
}

/// `TYPE NAME { key = value, ... }`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) parameters: Vec<(String, Item)>,
    pub(crate) at: At,
}

/// `TYPE NAME [ ... ]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Topology {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) below: Vec<Topology>,
}

/// What is in a set of files.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) blocks: Vec<Arc<Block>>,
    /// Names of objects, and the blocks that they are made of.
    pub(crate) objects: HashMap<String, String>,
    pub(crate) topologies: Vec<Topology>,
    pub(crate) warnings: Vec<Warning>,
    /// Files that others included.
    pub(crate) included: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Mark(u8),
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "'{word}'"),
            Self::Mark(mark) => write!(f, "'{}'", char::from(*mark)),
            Self::End => f.write_str("the end of the file"),
        }
    }
}

/// Splits a text into words and marks.
fn tokens(text: &str, path: &Arc<Path>) -> Vec<(Token, At)> {
    let mut tokens = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let at = || At {
            path: Arc::clone(path),
            line: number + 1,
        };
        let line = line.split('#').next().unwrap_or_default();
        let mut word = String::new();
        let flush = |word: &mut String, tokens: &mut Vec<(Token, At)>| {
            if !word.is_empty() {
                tokens.push((Token::Word(std::mem::take(word)), at()));
            }
        };
        for c in line.chars() {
            match c {
                '{' | '}' | '[' | ']' | ',' | '=' => {
                    flush(&mut word, &mut tokens);
                    tokens.push((Token::Mark(c as u8), at()));
                }
                ':' | '?' | ';' => flush(&mut word, &mut tokens),
                c if c.is_whitespace() || c.is_control() => flush(&mut word, &mut tokens),
                c => word.push(c),
            }
        }
        flush(&mut word, &mut tokens);
    }
    tokens
}

/// Files that were given on the command line, where included ones may be.
pub(crate) struct Files<'a> {
    pub(crate) given: &'a [PathBuf],
}

impl Files<'_> {
    /// The file that another one names.
    pub(crate) fn find(&self, name: &str, at: &At) -> Result<PathBuf, DiskSimError> {
        let beside = at.path.parent().unwrap_or(Path::new("")).join(name);
        if beside.is_file() {
            return Ok(beside);
        }
        let last = Path::new(name).file_name();
        let given = self.given.iter().find(|path| path.file_name() == last);
        given.cloned().ok_or_else(|| DiskSimError::NotFound {
            at: at.to_string(),
            name: name.to_owned(),
        })
    }
}

pub(crate) fn read(path: &Path) -> Result<String, DiskSimError> {
    let bytes = std::fs::read(path).map_err(|source| DiskSimError::Io {
        path: path.to_owned(),
        source,
    })?;
    // Comments may be in any encoding.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A file that is being read.
struct Source {
    path: PathBuf,
    tokens: std::vec::IntoIter<(Token, At)>,
}

struct Parser<'a> {
    files: &'a Files<'a>,
    sources: Vec<Source>,
    ahead: Vec<(Token, At)>,
    last: At,
    definitions: HashMap<String, Arc<Block>>,
    tree: &'a mut Tree,
    depth: usize,
}

/// Blocks and lists within each other.
const DEEPEST: usize = 64;

/// Adds what is in a file to the tree.
pub(crate) fn parse(path: &Path, files: &Files<'_>, tree: &mut Tree) -> Result<(), DiskSimError> {
    let definitions = tree
        .blocks
        .iter()
        .map(|block| (block.name.clone(), Arc::clone(block)))
        .collect();
    let mut parser = Parser {
        files,
        sources: Vec::new(),
        ahead: Vec::new(),
        last: At {
            path: Arc::from(path),
            line: 1,
        },
        definitions,
        tree,
        depth: 0,
    };
    parser.open(path.to_owned(), &read(path)?);
    parser.file()
}

impl Parser<'_> {
    fn open(&mut self, path: PathBuf, text: &str) {
        let shared: Arc<Path> = Arc::from(path.as_path());
        self.sources.push(Source {
            path,
            tokens: tokens(text, &shared).into_iter(),
        });
    }

    /// The next token; the files that are included stand where they are.
    fn next(&mut self) -> Result<(Token, At), DiskSimError> {
        if let Some(token) = self.ahead.pop() {
            return Ok(token);
        }
        loop {
            let Some(source) = self.sources.last_mut() else {
                return Ok((Token::End, self.last.clone()));
            };
            let Some((token, at)) = source.tokens.next() else {
                self.sources.pop();
                continue;
            };
            self.last = at.clone();
            match token {
                Token::Word(word) if word == "source" => {
                    let (name, at) = match source.tokens.next() {
                        Some((Token::Word(name), at)) => (name, at),
                        Some((token, at)) => {
                            return Err(wrong(&token, &at, "a file after 'source'"));
                        }
                        None => return Err(wrong(&Token::End, &at, "a file after 'source'")),
                    };
                    let path = self.files.find(&name, &at)?;
                    if self.sources.iter().any(|source| source.path == path) {
                        return Err(DiskSimError::Cyclic {
                            at: at.to_string(),
                            name,
                        });
                    }
                    if self.tree.included.len() >= MOST_INCLUDED {
                        return Err(wrong(
                            &Token::Word(name),
                            &at,
                            "at most 1000 files included in all",
                        ));
                    }
                    let text = read(&path)?;
                    self.tree.included.push(path.clone());
                    self.open(path, &text);
                }
                token => return Ok((token, at)),
            }
        }
    }

    fn back(&mut self, token: (Token, At)) {
        self.ahead.push(token);
    }

    fn word(&mut self, expected: &'static str) -> Result<(String, At), DiskSimError> {
        match self.next()? {
            (Token::Word(word), at) => Ok((word, at)),
            (token, at) => Err(wrong(&token, &at, expected)),
        }
    }

    fn mark(&mut self, mark: u8, expected: &'static str) -> Result<(), DiskSimError> {
        match self.next()? {
            (Token::Mark(seen), _) if seen == mark => Ok(()),
            (token, at) => Err(wrong(&token, &at, expected)),
        }
    }

    /// Whether the next token is this mark; it is taken then.
    fn takes(&mut self, mark: u8) -> Result<bool, DiskSimError> {
        let token = self.next()?;
        let is = token.0 == Token::Mark(mark);
        if !is {
            self.back(token);
        }
        Ok(is)
    }

    fn deeper(&mut self, at: &At) -> Result<(), DiskSimError> {
        self.depth += 1;
        match self.depth > DEEPEST {
            true => Err(DiskSimError::Syntax {
                at: at.to_string(),
                seen: format!("more than {DEEPEST} blocks and lists within each other"),
                expected: "fewer",
            }),
            false => Ok(()),
        }
    }

    fn file(&mut self) -> Result<(), DiskSimError> {
        loop {
            match self.next()? {
                (Token::End, _) => return Ok(()),
                (Token::Mark(b','), _) => {}
                (Token::Word(word), at) if word == "instantiate" => self.instantiate(&at)?,
                (Token::Word(word), at) if word == "topology" => {
                    let (kind, _) = self.word("the type of a component")?;
                    let topology = self.topology(kind, &at)?;
                    self.tree.topologies.push(topology);
                }
                (Token::Word(kind), at) => {
                    let (name, _) = self.word("a name after the type of a block")?;
                    self.mark(b'{', "'{' after the name of a block")?;
                    self.block(kind, name, at)?;
                }
                (token, at) => {
                    return Err(wrong(
                        &token,
                        &at,
                        "a block, 'instantiate', 'topology' or 'source'",
                    ));
                }
            }
        }
    }

    fn instantiate(&mut self, at: &At) -> Result<(), DiskSimError> {
        self.mark(b'[', "'[' after 'instantiate'")?;
        let names = self.list(at)?;
        let (word, word_at) = self.word("'as' after the objects")?;
        if word != "as" {
            return Err(wrong(
                &Token::Word(word),
                &word_at,
                "'as' after the objects",
            ));
        }
        let (block, _) = self.word("the name of a block after 'as'")?;
        for name in names {
            if let Value::Word(name) = name.value {
                self.tree.objects.insert(name, block.clone());
            }
        }
        Ok(())
    }

    fn topology(&mut self, kind: String, at: &At) -> Result<Topology, DiskSimError> {
        self.deeper(at)?;
        let (name, _) = self.word("the name of a component")?;
        self.mark(b'[', "'[' with the components below")?;
        let mut below = Vec::new();
        loop {
            match self.next()? {
                (Token::Mark(b']'), _) => break,
                (Token::Mark(b','), _) => {}
                (Token::Word(kind), at) => below.push(self.topology(kind, &at)?),
                (token, at) => return Err(wrong(&token, &at, "a component or ']'")),
            }
        }
        self.depth -= 1;
        Ok(Topology { kind, name, below })
    }

    /// The parameters of a block, behind its '{'.
    fn block(&mut self, kind: String, name: String, at: At) -> Result<Arc<Block>, DiskSimError> {
        self.deeper(&at)?;
        let base = self.definitions.get(&kind).cloned();
        let (kind, mut parameters) = match base {
            Some(base) => (base.kind.clone(), base.parameters.clone()),
            None => (kind, Vec::new()),
        };
        loop {
            let (first, first_at) = match self.next()? {
                (Token::Mark(b'}'), _) => break,
                (Token::Mark(b','), _) => continue,
                (Token::Word(word), at) => (word, at),
                (token, at) => return Err(wrong(&token, &at, "a parameter or '}'")),
            };
            let mut key = first;
            loop {
                match self.next()? {
                    (Token::Mark(b'='), _) => break,
                    (Token::Word(word), _) => {
                        key.push(' ');
                        key.push_str(&word);
                    }
                    (token, at) => {
                        return Err(wrong(&token, &at, "'=' after the name of a parameter"));
                    }
                }
            }
            let mut item = self.value()?;
            item.at = first_at;
            match parameters.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => *known = item,
                None => parameters.push((key, item)),
            }
            match self.next()? {
                (Token::Mark(b','), _) => {}
                (Token::Mark(b'}'), _) => break,
                (token, at) => return Err(wrong(&token, &at, "',' or '}' after a value")),
            }
        }
        self.depth -= 1;
        let block = Arc::new(Block {
            kind,
            name,
            parameters,
            at,
        });
        if !block.name.is_empty() {
            if self.definitions.contains_key(&block.name) {
                self.tree.warnings.push(Warning {
                    at: block.at.to_string(),
                    key: block.name.clone(),
                    about: WarningAbout::DefinedBefore,
                });
            } else {
                self.definitions
                    .insert(block.name.clone(), Arc::clone(&block));
                self.tree.blocks.push(Arc::clone(&block));
            }
        }
        Ok(block)
    }

    fn value(&mut self) -> Result<Item, DiskSimError> {
        let (token, at) = self.next()?;
        let value = match token {
            Token::Mark(b'[') => Value::List(self.list(&at)?),
            Token::Word(word) => self.value_of_word(word, &at)?,
            token => return Err(wrong(&token, &at, "a value")),
        };
        Ok(Item { value, at })
    }

    fn value_of_word(&mut self, word: String, at: &At) -> Result<Value, DiskSimError> {
        if let Some(value) = number(&word) {
            return Ok(value);
        }
        if word == "topology" {
            let (kind, _) = self.word("the type of a component")?;
            return Ok(Value::Topology(Arc::new(self.topology(kind, at)?)));
        }
        if self.takes(b'{')? {
            return Ok(Value::Block(self.block(word, String::new(), at.clone())?));
        }
        match self.next()? {
            (Token::Word(name), name_at) if !name.contains("..") => {
                if self.takes(b'{')? {
                    return Ok(Value::Block(self.block(word, name, at.clone())?));
                }
                self.back((Token::Word(name), name_at));
                Ok(Value::Word(word))
            }
            token => {
                self.back(token);
                Ok(Value::Word(word))
            }
        }
    }

    /// The values of a list, behind its '['.
    fn list(&mut self, at: &At) -> Result<Vec<Item>, DiskSimError> {
        self.deeper(at)?;
        let mut items: Vec<Item> = Vec::new();
        loop {
            match self.next()? {
                (Token::Mark(b']'), _) => break,
                (Token::Mark(b','), _) => {}
                (Token::Word(word), at) if word == ".." => {
                    let first = items.pop();
                    let (last, _) = self.word("the last name of a range")?;
                    items.extend(range(first, &last, &at)?);
                }
                (Token::Word(word), at) if word.contains("..") => {
                    let (first, last) = word.split_once("..").expect("it contains the dots");
                    let first = Item {
                        value: Value::Word(first.to_owned()),
                        at: at.clone(),
                    };
                    items.extend(range(Some(first), last, &at)?);
                }
                (Token::End, at) => {
                    return Err(wrong(&Token::End, &at, "']' at the end of a list"));
                }
                token => {
                    self.back(token);
                    items.push(self.value()?);
                }
            }
        }
        self.depth -= 1;
        Ok(items)
    }
}

/// `disk0 .. disk9`.
fn range(first: Option<Item>, last: &str, at: &At) -> Result<Vec<Item>, DiskSimError> {
    const MOST: u64 = 100_000;
    let refused = |seen: &str| DiskSimError::Syntax {
        at: at.to_string(),
        seen: format!("'.. {seen}'"),
        expected: "two names that differ in a number at their end, such as disk0 .. disk9",
    };
    let Some(Item {
        value: Value::Word(first),
        ..
    }) = first
    else {
        return Err(refused(last));
    };
    let split = |name: &str| -> Option<(String, u64)> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = name[stem.len()..].parse().ok()?;
        Some((stem.to_owned(), number))
    };
    match (split(&first), split(last)) {
        (Some((stem, from)), Some((same, to)))
            if stem == same && from <= to && to - from < MOST =>
        {
            Ok((from..=to)
                .map(|number| Item {
                    value: Value::Word(format!("{stem}{number}")),
                    at: at.clone(),
                })
                .collect())
        }
        _ => Err(refused(last)),
    }
}

/// A word that is a number.
fn number(word: &str) -> Option<Value> {
    if let Some(digits) = word.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16).ok().map(Value::Int);
    }
    let digits = word.strip_prefix('-').unwrap_or(word);
    let plain = |c: u8| c.is_ascii_digit() || matches!(c, b'.' | b'e' | b'E' | b'+' | b'-');
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') || !digits.bytes().all(plain) {
        return None;
    }
    if let Ok(whole) = word.parse() {
        return Some(Value::Int(whole));
    }
    let number: f64 = word.parse().ok()?;
    number.is_finite().then_some(Value::Float(number))
}

fn wrong(token: &Token, at: &At, expected: &'static str) -> DiskSimError {
    DiskSimError::Syntax {
        at: at.to_string(),
        seen: token.to_string(),
        expected,
    }
}

/// The points of a seek file: `Seek distances measured: N`, then `distance, ms[, standard deviation]` on each of N lines,
/// ascending in distance.
pub(crate) fn seek_file(path: &Path) -> Result<Vec<(f64, f64)>, DiskSimError> {
    const COUNT: &str = "Seek distances measured:";
    let text = read(path)?;
    let mut stated: Option<(usize, usize)> = None;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let refused = |key: &str, seen: &str, expected: &str| DiskSimError::Value {
            at: format!("{}:{}", path.display(), number + 1),
            key: key.to_owned(),
            seen: format!("'{seen}'"),
            expected: expected.to_owned(),
        };
        if let Some(count) = line.strip_prefix(COUNT) {
            let count = count.trim();
            let parsed = count.parse().map_err(|_| {
                refused("Seek distances measured", count, "the number of distances")
            })?;
            stated = Some((number + 1, parsed));
        } else if !line.is_empty() {
            let last = points.last().map(|&(distance, _)| distance);
            let point = seek_point(line, last);
            let point = point.map_err(|expected| refused("seek distance, time", line, expected))?;
            points.push(point);
        }
    }
    if points.is_empty() {
        return Err(DiskSimError::Syntax {
            at: format!("{}:1", path.display()),
            seen: "no distances".to_owned(),
            expected: "lines of a distance in cylinders, a comma and a time in milliseconds",
        });
    }
    match stated {
        Some((line, count)) if count != points.len() => Err(DiskSimError::Value {
            at: format!("{}:{line}", path.display()),
            key: "Seek distances measured".to_owned(),
            seen: count.to_string(),
            expected: format!(
                "{}, as many as follow: the file is cut off or was changed",
                points.len()
            ),
        }),
        _ => Ok(points),
    }
}

/// A line of a seek file, after a distance; or what was expected there.
fn seek_point(line: &str, last: Option<f64>) -> Result<(f64, f64), &'static str> {
    let mut fields = line
        .split([',', ' ', '\t'])
        .filter(|field| !field.is_empty());
    let point = (
        fields.next().and_then(|d| d.parse::<u32>().ok()),
        fields.next().and_then(|t| t.parse::<f64>().ok()),
    );
    let (Some(distance), Some(ms)) = point else {
        return Err("a distance in cylinders, a comma, a time in milliseconds");
    };
    let distance = f64::from(distance);
    if !(0.0..=1e6).contains(&ms) {
        return Err("a time from 0 to 1e6 ms");
    }
    if last.is_some_and(|last| last >= distance) {
        return Err("a distance above that of the line before");
    }
    Ok((distance, ms))
}
