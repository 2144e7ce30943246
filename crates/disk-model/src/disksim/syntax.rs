//! The syntax of parameter files: words, values, lists, and blocks with names.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{DiskSimError, Warning, WarningAbout};
use super::files::{Files, read};
use super::tokens::{Token, number, tokens};
use super::tree::{At, Block, Item, Topology, Tree, Value};

/// Files that include others several times each grow without a bound.
const MOST_INCLUDED: usize = 1000;

/// Blocks have tens of parameters. What they inherit is copied, and names are looked for one by one.
const MOST_PARAMETERS: usize = 1000;
const MOST_INHERITED: usize = 100_000;

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
                            "at most 1000 included files",
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
                seen: format!("more than {DEEPEST} nested blocks and lists"),
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
            Some(base) => {
                self.tree.inherited += base.parameters.len();
                if self.tree.inherited > MOST_INHERITED {
                    let expected = "at most 100000 inherited parameters";
                    return Err(wrong(&Token::Word(kind), &at, expected));
                }
                (base.kind.clone(), base.parameters.clone())
            }
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
            let count = parameters.len();
            match parameters.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => *known = item,
                None if count == MOST_PARAMETERS => {
                    let expected = "at most 1000 parameters in a block";
                    return Err(wrong(&Token::Word(key), &item.at, expected));
                }
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
            Token::Mark(b'[') => Value::List(self.list(&at)?.into()),
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
        expected: "two names that differ only in a final number, such as disk0 .. disk9",
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

fn wrong(token: &Token, at: &At, expected: &'static str) -> DiskSimError {
    DiskSimError::Syntax {
        at: at.to_string(),
        seen: token.to_string(),
        expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> At {
        At {
            path: Arc::from(Path::new("x")),
            line: 1,
        }
    }

    fn names(first: Value, last: &str) -> Result<Vec<Value>, DiskSimError> {
        let first = Item {
            value: first,
            at: at(),
        };
        let items = range(Some(first), last, &at())?;
        Ok(items.into_iter().map(|item| item.value).collect())
    }

    #[test]
    fn a_range_of_names_counts_from_the_first_to_the_last() {
        let word = |word: &str| Value::Word(word.to_owned());
        for (first, last, expected) in [
            ("d0", "d2", &["d0", "d1", "d2"][..]),
            ("d9", "d11", &["d9", "d10", "d11"]),
            ("d3", "d3", &["d3"]),
        ] {
            let expected: Vec<Value> = expected.iter().map(|name| word(name)).collect();
            assert_eq!(names(word(first), last).unwrap(), expected);
        }
        for (first, last) in [
            (word("d0"), "e2"),
            (word("d2"), "d1"),
            (word("d"), "d2"),
            (word("d0"), "d"),
            (word("d0"), "d99999999999999999999"),
            (Value::Int(0), "2"),
        ] {
            let message = names(first, last).unwrap_err().to_string();
            assert!(
                message.contains("differ only in a final number"),
                "{message}"
            );
        }
        assert!(range(None, "d2", &at()).is_err());
        // At most 100,000 names.
        assert_eq!(names(word("d0"), "d99999").unwrap().len(), 100_000);
        assert_eq!(names(word("d7"), "d100006").unwrap().len(), 100_000);
        assert!(names(word("d0"), "d100000").is_err());
    }

    fn parsed(text: &str) -> Result<Tree, DiskSimError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.parv");
        std::fs::write(&path, text).unwrap();
        std::fs::write(dir.path().join("empty"), "").unwrap();
        let mut tree = Tree::default();
        parse(&path, &Files { given: &[] }, &mut tree)?;
        Ok(tree)
    }

    #[test]
    fn blocks_inherit_the_parameters_of_a_block_that_is_their_type() {
        let tree = parsed(
            "kind A { x = 1, y z = 2.5, } A B { y z = 3, w = [ a0 .. a1, b2..b3, 7 ] },\n\
             kind A { x = 9 }\ninstantiate [ d0 .. d1 ] as B instantiate [ e ] as A",
        )
        .unwrap();
        let value = |block: usize, key: &str| {
            let parameters = &tree.blocks[block].parameters;
            let all: Vec<_> = parameters.iter().filter(|(k, _)| k == key).collect();
            assert_eq!(all.len(), 1, "{key}");
            all[0].1.value.clone()
        };
        let kinds: Vec<(&str, &str)> = tree
            .blocks
            .iter()
            .map(|block| (block.kind.as_str(), block.name.as_str()))
            .collect();
        assert_eq!(kinds, [("kind", "A"), ("kind", "B")]);
        assert_eq!(
            (value(0, "x"), value(0, "y z")),
            (Value::Int(1), Value::Float(2.5))
        );
        assert_eq!(
            (value(1, "x"), value(1, "y z")),
            (Value::Int(1), Value::Int(3))
        );
        let Value::List(items) = value(1, "w") else {
            panic!("a list")
        };
        let items: Vec<String> = items.iter().map(Item::to_string).collect();
        assert_eq!(items, ["'a0'", "'a1'", "'b2'", "'b3'", "7"]);
        // The second definition of A does not count.
        let [warning] = &tree.warnings[..] else {
            panic!("{:?}", tree.warnings)
        };
        assert_eq!(warning.about, WarningAbout::DefinedBefore);
        assert!(warning.key == "A" && warning.at.ends_with("x.parv:2"));
        let mut objects: Vec<_> = tree.objects.iter().collect();
        objects.sort();
        let object = |(name, block): (&String, &String)| format!("{name} {block}");
        let objects: Vec<String> = objects.into_iter().map(object).collect();
        assert_eq!(objects, ["d0 B", "d1 B", "e A"]);
    }

    #[test]
    fn values_may_be_blocks_with_or_without_a_name_and_topologies() {
        let tree = parsed(
            "kind A { b = inner { x = 1 }, c = inner NAMED { x = 2 }, d = word,\n\
             e = topology bus top [ disk d0 [], disk d1 [ disk d2 [] ] ] }\ntopology bus root [ disk d3 [] ]",
        )
        .unwrap();
        let block = tree.blocks.iter().find(|block| block.name == "A").unwrap();
        let texts: Vec<String> = block
            .parameters
            .iter()
            .map(|(key, item)| format!("{key} {item}"))
            .collect();
        assert_eq!(
            texts,
            [
                "b a block 'inner'",
                "c a block 'inner'",
                "d 'word'",
                "e a topology of 'top'"
            ]
        );
        assert!(tree.blocks.iter().any(|block| block.name == "NAMED"));
        let Value::Topology(topology) = &block.parameters[3].1.value else {
            panic!("a topology")
        };
        let below: Vec<&str> = topology.below.iter().map(|t| t.name.as_str()).collect();
        assert_eq!((topology.kind.as_str(), below), ("bus", vec!["d0", "d1"]));
        assert_eq!(topology.below[1].below[0].name, "d2");
        let [root] = &tree.topologies[..] else {
            panic!("{:?}", tree.topologies)
        };
        assert_eq!((root.name.as_str(), root.below.len()), ("root", 1));
    }

    #[test]
    fn blocks_lie_within_each_other_to_a_depth_of_64() {
        for (depth, deep) in [(64, false), (65, true)] {
            let inside = |open: &str, close: &str| {
                let text = format!("{}{}", open.repeat(depth - 1), close.repeat(depth - 1));
                parsed(&format!("kind A {{ x = {text} }}"))
            };
            assert_eq!(inside("[ ", "] ").is_err(), deep);
            let opening = "b { x = ".repeat(depth - 2);
            let blocks = format!("kind A {{ x = {opening}b {{ y = 1 {}", "} ".repeat(depth));
            assert_eq!(parsed(&blocks).is_err(), deep);
            let topology = format!("{}{}", "disk d [ ".repeat(depth), "] ".repeat(depth));
            assert_eq!(parsed(&format!("topology {topology}")).is_err(), deep);
        }
        // Those that have ended do not count.
        let beside = "x = [ [ ] ], y = b { z = [ ] }, ".repeat(100);
        assert!(parsed(&format!("kind A {{ {beside} }}")).is_ok());
        let beside = "topology bus b [ disk d [] ] ".repeat(100);
        assert!(parsed(&beside).is_ok());
    }

    #[test]
    fn blocks_have_a_thousand_parameters_and_inherit_a_hundred_thousand_at_most() {
        let base = |parameters: usize| {
            let of: String = (0..parameters).map(|i| format!("p{i} = 1,")).collect();
            format!("A base {{ {of} }} ")
        };
        let heirs = |n: usize| -> String { (0..n).map(|i| format!("base b{i} {{ }} ")).collect() };
        assert!(parsed(&base(MOST_PARAMETERS)).is_ok());
        let error = parsed(&base(MOST_PARAMETERS + 1)).unwrap_err().to_string();
        let parts = ["p1000", "at most 1000 parameters"];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        assert!(parsed(&(base(MOST_PARAMETERS) + &heirs(100))).is_ok());
        let error = parsed(&(base(MOST_PARAMETERS) + &heirs(101))).unwrap_err();
        let error = error.to_string();
        let parts = ["base", "at most 100000 inherited"];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }

    #[test]
    fn files_include_a_thousand_others_at_most() {
        assert_eq!(
            parsed(&"source empty\n".repeat(1000))
                .unwrap()
                .included
                .len(),
            1000
        );
        let message = parsed(&"source empty\n".repeat(1001))
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("x.parv:1001: found 'empty', expected at most 1000 included files"),
            "{message}"
        );
    }

    #[test]
    fn what_stands_in_the_wrong_place_is_named() {
        for (text, seen, expected) in [
            ("= A", "'='", "a block, 'instantiate'"),
            ("kind A [", "'['", "'{' after the name"),
            ("kind {", "'{'", "a name after the type"),
            ("kind A { =", "'='", "a parameter or '}'"),
            ("kind A { x , ", "','", "'=' after the name"),
            ("kind A { x = , ", "','", "a value"),
            ("kind A { x = 1 2", "'2'", "',' or '}' after a value"),
            ("kind A { x = [ 1", "the end of the file", "']' at the end"),
            ("kind A { x = [ d0 .. 1 ] }", "'.. 1'", "two names"),
            ("instantiate x", "'x'", "'[' after 'instantiate'"),
            ("instantiate [ x ] is A", "'is'", "'as' after"),
            ("instantiate [ x ] as [", "'['", "the name of a block"),
            ("topology [", "'['", "the type of a component"),
            ("topology bus [", "'['", "the name of a component"),
            ("topology bus b {", "'{'", "'[' with the components"),
            ("topology bus b [ =", "'='", "a component or ']'"),
            ("source [", "'['", "a file after 'source'"),
            ("source", "the end of the file", "a file after 'source'"),
        ] {
            let message = parsed(text).unwrap_err().to_string();
            let complaint = format!("found {seen}, expected {expected}");
            assert!(message.contains(&complaint), "{text}: {message}");
        }
    }
}
