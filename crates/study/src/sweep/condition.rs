//! `where = "disks >= 4 and level != 'raid0'"`: which points there are.
//!
//! ```text
//! or      = and { "or" and }
//! and     = not { "and" not }
//! not     = [ "not" ] compare
//! compare = sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=") sum | "in" "[" sum { "," sum } "]" ]
//! sum     = product { ("+" | "-") product }
//! product = unary { ("*" | "/" | "%") unary }
//! unary   = [ "-" ] ( number | 'string' | parameter | "(" or ")" )
//! ```

use std::fmt;

/// A condition on the values of parameters.
#[derive(Clone, Debug)]
pub struct Condition(Node);

/// What an expression can be worth.
#[derive(Clone, Debug, PartialEq)]
enum Worth {
    Number(f64),
    Text(String),
    Truth(bool),
}

#[derive(Clone, Debug)]
enum Node {
    Number(f64),
    Text(String),
    Parameter(String),
    Minus(Box<Node>),
    Not(Box<Node>),
    Two(Operator, Box<Node>, Box<Node>),
    In(Box<Node>, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
}

impl Operator {
    /// By how it is written.
    fn of(text: &str) -> Option<Self> {
        Some(match text {
            "or" | "||" => Self::Or,
            "and" | "&&" => Self::And,
            "==" | "=" => Self::Equal,
            "!=" => Self::Unequal,
            "<" => Self::Less,
            "<=" => Self::AtMost,
            ">" => Self::More,
            ">=" => Self::AtLeast,
            "+" => Self::Plus,
            "-" => Self::Minus,
            "*" => Self::Times,
            "/" => Self::Over,
            "%" => Self::Modulo,
            _ => return None,
        })
    }
}

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let tokens = tokens(text)?;
        if tokens.len() > DEEPEST {
            return Err(format!(
                "has more than {DEEPEST} names, values and operators"
            ));
        }
        let mut parser = Parser { tokens, at: 0 };
        let node = parser.binary(0)?;
        match parser.peek() {
            None => Ok(Self(node)),
            Some(token) => Err(format!("has an unexpected '{token}'")),
        }
    }

    /// Whether it holds for a point; `value` knows its parameters.
    ///
    /// # Errors
    /// If a parameter is unknown, or things are compared that cannot be.
    pub fn holds<'a>(&self, value: &dyn Fn(&str) -> Option<&'a str>) -> Result<bool, String> {
        match worth(&self.0, value)? {
            Worth::Truth(truth) => Ok(truth),
            other => Err(format!("evaluates to {other}, expected true or false")),
        }
    }
}

impl fmt::Display for Worth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "'{text}'"),
            Self::Truth(truth) => write!(f, "{truth}"),
        }
    }
}

fn worth<'a>(node: &Node, value: &dyn Fn(&str) -> Option<&'a str>) -> Result<Worth, String> {
    let truth = |node: &Node| match worth(node, value)? {
        Worth::Truth(truth) => Ok(truth),
        other => Err(format!("uses {other} where true or false was expected")),
    };
    let number = |node: &Node| match worth(node, value)? {
        Worth::Number(number) => Ok(number),
        other => Err(format!("cannot be evaluated: {other} is not a number")),
    };
    Ok(match node {
        Node::Number(number) => Worth::Number(*number),
        Node::Text(text) => Worth::Text(text.clone()),
        Node::Parameter(name) => match value(name) {
            Some(text) => match of_text(text) {
                Worth::Number(number) if number.is_nan() => {
                    return Err(format!(
                        "cannot be evaluated: '{name}' is NaN, which cannot be compared"
                    ));
                }
                worth => worth,
            },
            None if name == "true" || name == "false" => Worth::Truth(name == "true"),
            None => return Err(format!("names an unknown parameter: '{name}'")),
        },
        Node::Minus(node) => Worth::Number(-number(node)?),
        Node::Not(node) => Worth::Truth(!truth(node)?),
        Node::In(node, list) => {
            let one = worth(node, value)?;
            let mut found = false;
            for other in list {
                found |= worth(other, value)? == one;
            }
            Worth::Truth(found)
        }
        // What decides the matter need not be followed by anything that makes sense.
        Node::Two(Operator::And, a, b) => Worth::Truth(truth(a)? && truth(b)?),
        Node::Two(Operator::Or, a, b) => Worth::Truth(truth(a)? || truth(b)?),
        Node::Two(Operator::Equal, a, b) => Worth::Truth(worth(a, value)? == worth(b, value)?),
        Node::Two(Operator::Unequal, a, b) => Worth::Truth(worth(a, value)? != worth(b, value)?),
        Node::Two(operator, a, b) => {
            let (a, b) = (number(a)?, number(b)?);
            match operator {
                Operator::Less => Worth::Truth(a < b),
                Operator::AtMost => Worth::Truth(a <= b),
                Operator::More => Worth::Truth(a > b),
                Operator::AtLeast => Worth::Truth(a >= b),
                Operator::Over | Operator::Modulo if b == 0.0 => {
                    return Err(format!("divides {a} by zero"));
                }
                Operator::Plus => defined(a + b, '+', a, b)?,
                Operator::Minus => defined(a - b, '-', a, b)?,
                Operator::Times => defined(a * b, '*', a, b)?,
                Operator::Over => defined(a / b, '/', a, b)?,
                _ => defined(a % b, '%', a, b)?,
            }
        }
    })
}

/// The result of `a sign b`, unless it is not a number or beyond all of them.
fn defined(result: f64, sign: char, a: f64, b: f64) -> Result<Worth, String> {
    if result.is_nan() || result.is_infinite() && a.is_finite() && b.is_finite() {
        return Err(format!(
            "cannot be evaluated: {a} {sign} {b} is not a number"
        ));
    }
    Ok(Worth::Number(result))
}

fn of_text(text: &str) -> Worth {
    match (text, text.parse()) {
        ("true", _) => Worth::Truth(true),
        ("false", _) => Worth::Truth(false),
        (_, Ok(number)) => Worth::Number(number),
        _ => Worth::Text(text.to_owned()),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64),
    Text(String),
    Word(String),
    Sign(&'static str),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) | Self::Word(text) => f.write_str(text),
            Self::Sign(sign) => f.write_str(sign),
        }
    }
}

const SIGNS: [&str; 19] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "=", "+", "-", "*", "/", "%", "(", ")", "[", "]",
    ",",
];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let of =
            |accepted: &dyn Fn(char) -> bool| rest.find(|c| !accepted(c)).unwrap_or(rest.len());
        let length;
        if first == '\'' || first == '"' {
            let end = rest[1..]
                .find(first)
                .ok_or("has a string with no closing quote")?;
            tokens.push(Token::Text(rest[1..=end].to_owned()));
            length = end + 2;
        } else if first.is_ascii_digit() || first == '.' {
            let mut end = of(&|c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
            if rest[..end].ends_with(['e', 'E']) && rest[end..].starts_with(['-', '+']) {
                let digits = rest[end + 1..].find(|c: char| !c.is_ascii_digit());
                end += 1 + digits.unwrap_or(rest.len() - end - 1);
            }
            let number = rest[..end].replace('_', "").parse();
            let number =
                number.map_err(|_| format!("has '{}', which is not a number", &rest[..end]))?;
            tokens.push(Token::Number(number));
            length = end;
        } else if first.is_alphabetic() || first == '_' {
            length = of(&|c| c.is_alphanumeric() || "_.-".contains(c));
            tokens.push(Token::Word(rest[..length].to_owned()));
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            let sign = sign.ok_or_else(|| format!("has an unexpected '{first}'"))?;
            tokens.push(Token::Sign(sign));
            length = sign.len();
        }
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

/// Operators that bind equally strongly, the weakest first.
const LEVELS: [&[Operator]; 5] = [
    &[Operator::Or],
    &[Operator::And],
    &[
        Operator::Equal,
        Operator::Unequal,
        Operator::Less,
        Operator::AtMost,
        Operator::More,
        Operator::AtLeast,
    ],
    &[Operator::Plus, Operator::Minus],
    &[Operator::Times, Operator::Over, Operator::Modulo],
];
const COMPARISONS: usize = 2;
/// Deeper ones are not plausible, and the stack is finite.
const DEEPEST: usize = 1000;

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = match self.peek() {
            Some(Token::Sign(s)) => *s == sign,
            Some(Token::Word(w)) => w == sign,
            _ => false,
        };
        self.at += usize::from(found);
        found
    }

    fn binary(&mut self, level: usize) -> Result<Node, String> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        if level == COMPARISONS && self.take("not") {
            return Ok(Node::Not(Box::new(self.binary(level)?)));
        }
        let mut node = self.binary(level + 1)?;
        loop {
            let operator = match self.peek() {
                Some(Token::Sign(s)) => Operator::of(s),
                Some(Token::Word(w)) => Operator::of(w),
                _ => None,
            };
            if let Some(operator) = operator.filter(|o| operators.contains(o)) {
                self.at += 1;
                let right = self.binary(level + 1)?;
                node = Node::Two(operator, Box::new(node), Box::new(right));
            } else if level == COMPARISONS && self.take("in") {
                node = Node::In(Box::new(node), self.list()?);
            } else {
                return Ok(node);
            }
        }
    }

    fn list(&mut self) -> Result<Vec<Node>, String> {
        if !self.take("[") {
            return Err("has 'in', which expects a list such as [1, 2]".to_owned());
        }
        let mut list = Vec::new();
        while !self.take("]") {
            list.push(self.binary(COMPARISONS + 1)?);
            if !self.take(",") && self.peek() != Some(&Token::Sign("]")) {
                return Err("has a list with no closing bracket".to_owned());
            }
        }
        Ok(list)
    }

    fn unary(&mut self) -> Result<Node, String> {
        if self.take("-") {
            return Ok(Node::Minus(Box::new(self.unary()?)));
        }
        if self.take("(") {
            let node = self.binary(0)?;
            return if self.take(")") {
                Ok(node)
            } else {
                Err("has an unclosed bracket: a ')' is missing".to_owned())
            };
        }
        let node = match self.peek() {
            Some(Token::Number(number)) => Node::Number(*number),
            Some(Token::Text(text)) => match of_text(text) {
                // In quotes, too, a number is a number: values are compared by what they mean.
                Worth::Number(number) if number.is_nan() => {
                    return Err("contains NaN, which cannot be compared".to_owned());
                }
                Worth::Number(number) => Node::Number(number),
                _ => Node::Text(text.clone()),
            },
            Some(Token::Word(word)) => Node::Parameter(word.clone()),
            Some(other) => return Err(format!("has an unexpected '{other}'")),
            None => return Err("ends too early".to_owned()),
        };
        self.at += 1;
        Ok(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str) -> Result<bool, String> {
        let value = |name: &str| match name {
            "disks" => Some("8"),
            "level" => Some("raid5"),
            "load.rate" => Some("2.5"),
            "fast" => Some("true"),
            "not_a_number" => Some("nan"),
            "endless" => Some("inf"),
            _ => None,
        };
        Condition::parse(text)?.holds(&value)
    }

    #[test]
    fn conditions_are_what_they_say() {
        for (text, expected) in [
            ("disks == 8", true),
            ("disks >= 4 and level != 'raid0'", true),
            ("not disks < 4 or level == \"raid0\"", true),
            ("disks in [2, 4] or level in ['raid5']", true),
            ("disks * load.rate == 20", true),
            ("disks - 1 - 1 == 6 and -disks < 0", true),
            ("(disks + 1) % 3 == 0", true),
            ("disks / 4 > 1e0 and fast", true),
            ("disks > 1e-3", true),
            ("disks < endless", true),
            ("fast == true", true),
            ("not fast", false),
            ("level == 5", false),
            ("disks < 4 and unknown == 1", false),
        ] {
            assert_eq!(holds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_condition_says_why() {
        for (text, complaint) in [
            ("", "ends too early"),
            ("disk >= 4", "unknown parameter: 'disk'"),
            ("disks >=", "ends too early"),
            ("disks", "evaluates to 8"),
            ("level < 3", "'raid5' is not a number"),
            ("(disks > 3", "')' is missing"),
            ("disks > 3 )", "unexpected ')'"),
            ("disks in 3", "expects a list"),
            ("disks in [3", "no closing bracket"),
            ("level == 'raid", "no closing quote"),
            ("disks ? 3", "unexpected '?'"),
            ("12monkeys > 3", "is not a number"),
            ("disks / 0 > 1", "divides 8 by zero"),
            ("disks % (8 - disks) == 0", "divides 8 by zero"),
            ("not_a_number == not_a_number", "'not_a_number' is NaN"),
            ("disks > not_a_number", "'not_a_number' is NaN"),
            ("disks > 'nan'", "NaN"),
            ("disks * 1e308 > 1", "is not a number"),
            ("endless - endless == 0", "is not a number"),
        ] {
            let error = holds(text).unwrap_err();
            assert!(error.contains(complaint), "{text}: {error}");
        }
        assert!(holds(&"(".repeat(100_000)).is_err());
    }
}
