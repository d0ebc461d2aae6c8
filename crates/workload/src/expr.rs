// SPDX-License-Identifier: GPL-2.0-or-later
//! Expressions: integers, names, `+ - * / %` and parentheses.

use crate::plan::Value;

/// Deep enough for people, shallow enough for the stack.
const MAX_DEPTH: u32 = 40;

/// Reads an expression; `resolve` gives each name's value. What is known is computed at once.
pub fn parse(text: &str, resolve: &dyn Fn(&str) -> Result<Value, String>) -> Result<Value, String> {
    let mut parser = Parser {
        rest: text.trim(),
        resolve,
        depth: 0,
    };
    let value = parser.sum()?;
    match parser.rest.chars().next() {
        None => Ok(value),
        Some(c) => Err(format!("expected an operator, found {c:?}")),
    }
}

/// Whether a text is a name: a-z, 0-9 and _, not beginning with a digit.
pub fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    text.chars().all(plain) && text.starts_with(|c: char| !c.is_ascii_digit())
}

struct Parser<'a> {
    rest: &'a str,
    resolve: &'a dyn Fn(&str) -> Result<Value, String>,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn take(&mut self, operators: &[char]) -> Option<char> {
        let found = self.rest.chars().next().filter(|c| operators.contains(c))?;
        self.rest = self.rest[1..].trim_start();
        Some(found)
    }

    fn word(&mut self, of: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !of(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    fn sum(&mut self) -> Result<Value, String> {
        let mut left = self.product()?;
        while let Some(operator) = self.take(&['+', '-']) {
            left = combine(operator, left, self.product()?)?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Value, String> {
        let mut left = self.atom()?;
        while let Some(operator) = self.take(&['*', '/', '%']) {
            left = combine(operator, left, self.atom()?)?;
        }
        Ok(left)
    }

    fn atom(&mut self) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("expected a simpler expression".into());
        }
        let value = match self.rest.chars().next() {
            Some('(') => {
                self.take(&['(']);
                let inside = self.sum()?;
                self.take(&[')']).ok_or("expected a closing parenthesis")?;
                inside
            }
            Some('-') => {
                self.take(&['-']);
                combine('-', Value::Const(0), self.atom()?)?
            }
            Some(c) if c.is_ascii_digit() => {
                let digits = self
                    .word(|c| c.is_ascii_digit() || c == '_')
                    .replace('_', "");
                Value::Const(digits.parse().map_err(|_| "expected integers of 64 bits")?)
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
                (self.resolve)(name)?
            }
            Some(c) => return Err(format!("expected a number or a name, found {c:?}")),
            None => return Err("expected a number or a name at the end".into()),
        };
        self.depth -= 1;
        Ok(value)
    }
}

/// `left operator right`, computed if both are known.
pub fn combine(operator: char, left: Value, right: Value) -> Result<Value, String> {
    if matches!(operator, '/' | '%') && !matches!(right, Value::Const(1..)) {
        return Err("expected a divisor above 0 that is known before the run".into());
    }
    if let (Value::Const(a), Value::Const(b)) = (&left, &right) {
        let value = match operator {
            '+' => a.checked_add(*b),
            '-' => a.checked_sub(*b),
            '*' => a.checked_mul(*b),
            '/' => a.checked_div_euclid(*b),
            _ => a.checked_rem_euclid(*b),
        };
        return value
            .map(Value::Const)
            .ok_or_else(|| "expected a result of 64 bits".into());
    }
    let pair = Box::new((left, right));
    Ok(match operator {
        '+' => Value::Add(pair),
        '-' => Value::Sub(pair),
        '*' => Value::Mul(pair),
        '/' => Value::Div(pair),
        _ => Value::Rem(pair),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, String> {
        parse(text, &|name| match name {
            "me" => Ok(Value::Me),
            "i" => Ok(Value::Local(1)),
            "seven" => Ok(Value::Const(7)),
            _ => Err(format!("unknown name {name}")),
        })
    }

    #[test]
    fn known_values_are_computed() {
        for (text, value) in [
            ("7", 7),
            (" 1_000 ", 1000),
            ("2 + 3 * 4", 14),
            ("(2 + 3) * 4", 20),
            ("10 - 2 - 3", 5),
            ("17 / 5 % 2", 1),
            ("-seven + 1", -6),
            ("-7 / 2", -4),
            ("- - 3", 3),
        ] {
            assert_eq!(read(text), Ok(Value::Const(value)), "{text}");
        }
    }

    #[test]
    fn unknown_values_are_left_for_the_run() {
        let value = read("(me / 20) * 20 + i").unwrap();
        assert_eq!(value.eval(45, &[0, 3]), 43);
        assert_eq!(read("me % seven").unwrap().eval(9, &[]), 2);
    }

    #[test]
    fn every_message() {
        for (text, message) in [
            ("", "expected a number or a name at the end"),
            ("1 +", "expected a number or a name at the end"),
            ("1 2", "expected an operator, found '2'"),
            ("*", "expected a number or a name, found '*'"),
            ("(1", "expected a closing parenthesis"),
            ("1)", "expected an operator, found ')'"),
            ("you", "unknown name you"),
            (
                "1 / 0",
                "expected a divisor above 0 that is known before the run",
            ),
            (
                "1 % me",
                "expected a divisor above 0 that is known before the run",
            ),
            ("9223372036854775807 + 1", "expected a result of 64 bits"),
            ("99999999999999999999", "expected integers of 64 bits"),
            ("ä", "expected a number or a name, found 'ä'"),
        ] {
            assert_eq!(read(text), Err(message.to_string()), "{text}");
        }
        let deep = "(".repeat(5000) + "1";
        assert_eq!(read(&deep), Err("expected a simpler expression".into()));
    }
}
