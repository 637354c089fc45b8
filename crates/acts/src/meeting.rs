//! Whether two patterns of names may name the same: a rule's, and one that a shell or a tool
//! expands.

/// A glob over one word: `*` is any text.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    // Asked for each option of each command, and most differ in their first letters.
    let (signs, bytes) = (pattern.as_bytes(), text.as_bytes());
    let mut at = 0;
    while let (Some(sign), Some(byte)) = (signs.get(at), bytes.get(at))
        && sign == byte
        && *sign != b'*'
    {
        at += 1;
    }
    match &signs[at..] {
        [] => return at == bytes.len(),
        [b'*'] => return true,
        [b'*', ..] => {}
        _ => return false,
    }
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

/// Whether a name of a pattern of file names may be one that a rule's glob over one word names.
pub(super) fn may_be(name: &str, word: &str) -> bool {
    let word: Vec<Token> = word
        .chars()
        .map(|c| if c == '*' { Token::Many } else { Token::Is(c) })
        .collect();
    name.contains('(') || characters_meet(&tokens(name), &word)
}

/// Whether some sequence fits two sequences of which some elements stand for any number of others.
/// `fit`: whether two other elements may be the same one.
pub fn meet<T>(
    one: &[T],
    other: &[T],
    is_any: impl Fn(&T) -> bool,
    fit: impl Fn(usize, usize) -> bool,
) -> bool {
    beginnings(one, other, is_any, fit)[other.len()]
}

/// For each number of elements, whether so many first ones of the other sequence may be the same as
/// all of the first.
fn beginnings<T>(
    one: &[T],
    other: &[T],
    is_any: impl Fn(&T) -> bool,
    fit: impl Fn(usize, usize) -> bool,
) -> Vec<bool> {
    // Which beginnings of the other one the beginning of the first that has been looked at may be
    // the same as.
    let mut reached = vec![false; other.len() + 1];
    reached[0] = true;
    let pass = |reached: &mut Vec<bool>| {
        for j in 0..other.len() {
            reached[j + 1] |= reached[j] && is_any(&other[j]);
        }
    };
    pass(&mut reached);
    for (i, element) in one.iter().enumerate() {
        let mut next = vec![false; other.len() + 1];
        if is_any(element) {
            let first = reached.iter().position(|it| *it);
            next.iter_mut()
                .skip(first.unwrap_or(other.len() + 1))
                .for_each(|it| *it = true);
        } else {
            for j in 0..other.len() {
                if reached[j] && is_any(&other[j]) {
                    next[j] = true;
                } else if reached[j] && fit(i, j) {
                    next[j + 1] = true;
                }
            }
            pass(&mut next);
        }
        reached = next;
    }
    reached
}

/// A piece of one name of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    Is(char),
    /// Any one character.
    One,
    /// Any characters.
    Many,
}

pub fn characters_meet(one: &[Token], other: &[Token]) -> bool {
    let fit = |i: usize, j: usize| match (one[i], other[j]) {
        (Token::Is(a), Token::Is(b)) => a == b || a.to_lowercase().eq(b.to_lowercase()),
        _ => true,
    };
    meet(one, other, |it| *it == Token::Many, fit)
}

/// For each number of characters, whether so many first ones of a text fit a pattern.
pub(super) fn beginnings_that_fit(pattern: &[Token], text: &[Token]) -> Vec<bool> {
    beginnings(
        pattern,
        text,
        |it| *it == Token::Many,
        |i, j| pattern[i] == Token::One || pattern[i] == text[j],
    )
}

/// A name of a pattern in pieces. A class is any character.
pub fn tokens(name: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = name.chars();
    while let Some(c) = rest.next() {
        tokens.push(match c {
            '*' => Token::Many,
            '?' => Token::One,
            '\\' => Token::Is(rest.next().unwrap_or('\\')),
            '[' => {
                // A bracket right behind the opening one, or behind its negation, is a character of
                // the class.
                let class = rest.as_str();
                let start = class.len() - class.trim_start_matches(['!', '^']).len();
                match class
                    .char_indices()
                    .skip_while(|(at, _)| *at <= start)
                    .find(|(_, c)| *c == ']')
                {
                    Some((end, _)) => {
                        rest = class[end + 1..].chars();
                        Token::One
                    }
                    None => Token::Is('['),
                }
            }
            c => Token::Is(c),
        });
    }
    tokens
}
