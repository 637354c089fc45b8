//! What is open at a place of a JSON text, and the hook around it.

use super::{Form, Quoted, Solid, Window, is_bare, next_solid, run_around};
use hookwire_base::syntax::formats;

const COMMENTS: &[(&str, &str)] = &[("//", "\n"), ("/*", "*/")];

/// The brackets and quotes that are open at a place of a JSON text.
#[derive(Default)]
struct Json {
    open: Vec<(u8, usize)>,
    /// Where the string that the place is in begins.
    string: Option<usize>,
    in_comment: bool,
    /// The last thing that isn't part of the word at the place, and the one before that string.
    last: Option<Solid>,
}

fn scan_json(text: &str, start: usize, offset: usize) -> Json {
    let mut state = Json::default();
    let bytes = text.as_bytes().get(..offset).unwrap_or_default();
    let word = run_around(text, offset, is_bare).start;
    let mut at = start;
    while let Some(byte) = bytes.get(at).copied() {
        let rest = text.get(at..).unwrap_or_default();
        if let Some((open, close)) = COMMENTS
            .iter()
            .find(|(open, _)| byte == b'/' && rest.starts_with(open))
        {
            let body = rest.get(open.len()..).unwrap_or_default();
            let Some(end) = body.find(close) else {
                state.in_comment = true;
                return state;
            };
            at += open.len() + end + close.len();
            if at > offset {
                state.in_comment = true;
                return state;
            }
            continue;
        }
        match byte {
            b'"' => {
                let line = bytes.get(at + 1..).unwrap_or_default();
                let mut end = 0;
                let closed = loop {
                    match line.get(end) {
                        Some(b'\\') => end += 2,
                        Some(b'"') => break true,
                        // A string that isn't closed ends with its line.
                        Some(b'\n') => break true,
                        Some(_) => end += 1,
                        None => break false,
                    }
                };
                if !closed {
                    state.string = Some(at);
                    return state;
                }
                at += 1 + end + 1;
                state.last = Some(Solid {
                    byte: b'"',
                    end: at,
                });
                continue;
            }
            b'{' | b'[' => {
                if state.open.len() < formats::MAX_DEPTH {
                    state.open.push((byte, at));
                }
                state.last = Some(Solid { byte, end: at + 1 });
            }
            b'}' | b']' => {
                state.open.pop();
                state.last = Some(Solid { byte, end: at + 1 });
            }
            _ if byte.is_ascii_whitespace() || at >= word => {}
            _ => state.last = Some(Solid { byte, end: at + 1 }),
        }
        at += 1;
    }
    state
}

pub(super) fn draft_form(text: &str, offset: usize, start: usize) -> Option<Form> {
    let state = scan_json(text, start, offset);
    if state.in_comment {
        return None;
    }
    let Some((bracket, _)) = state.open.last().copied() else {
        let is_empty = state.last.is_none() && state.string.is_none();
        let is_empty = is_empty
            && next_solid(text, run_around(text, offset, is_bare).end, COMMENTS).is_empty();
        let quoted = Quoted {
            text,
            offset,
            string: None,
            comments: COMMENTS,
        };
        return is_empty.then(|| quoted.write_form(false, &[], None, "", ':'));
    };
    let is_key = bracket == b'{' && state.last.is_none_or(|it| it.byte != b':');
    let open: Vec<u8> = state.open.iter().map(|(bracket, _)| *bracket).collect();
    let quoted = Quoted {
        text,
        offset,
        string: state.string.map(|at| (at, "\"")),
        comments: COMMENTS,
    };
    Some(quoted.write_form(is_key, &open, state.last, ": 0", ':'))
}

pub(super) fn hook_window(text: &str, offset: usize) -> Option<Window> {
    let state = scan_json(text, 0, offset);
    let (_, start) = *state.open.get(2)?;
    let end = closing_bracket(text, start).unwrap_or(text.len());
    (end >= offset).then_some(Window {
        span: start..end,
        before: "{\"hooks\":[",
        after: "]}",
    })
}

/// Behind the bracket that closes the one at `start`.
fn closing_bracket(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut in_string) = (start, 0_usize, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'\n' => in_string = false,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}
