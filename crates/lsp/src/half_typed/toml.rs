//! What is open at a place of a TOML text, and the hook around it.

use super::{Form, Quoted, Solid, Window, is_bare, line_around, run_around};
use hookwire_base::syntax::formats;

const COMMENTS: &[(&str, &str)] = &[("#", "\n")];

/// The kind of text that a place of a TOML text is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Key,
    Header,
    Value,
    Comment,
}

/// The brackets and quotes that are open at a place of a TOML text.
struct Toml {
    part: Part,
    open: Vec<u8>,
    string: Option<(usize, &'static str)>,
    last: Option<Solid>,
}

fn is_header(line: &str) -> bool {
    let line = line.split('#').next().unwrap_or_default().trim();
    let inner = line.strip_prefix("[[").and_then(|it| it.strip_suffix("]]"));
    let inner = inner.or_else(|| line.strip_prefix('[').and_then(|it| it.strip_suffix(']')));
    inner.is_some_and(|header| {
        !header.trim().is_empty()
            && header
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' '))
    })
}

fn scan_toml(text: &str, start: usize, offset: usize) -> Toml {
    let mut state = Toml {
        part: Part::Key,
        open: Vec::new(),
        string: None,
        last: None,
    };
    let word = run_around(text, offset, is_bare).start;
    let mut at = start;
    let mut begins_line = true;
    while at < offset {
        let rest = text.get(at..).unwrap_or_default();
        let Some(byte) = text.as_bytes().get(at).copied() else {
            break;
        };
        if begins_line {
            begins_line = false;
            let line = rest.lines().next().unwrap_or_default();
            let is_new_hook = line.trim_end() == "[[hooks]]";
            if is_new_hook || state.string.is_none() && !state.open.is_empty() && is_header(line) {
                state = Toml {
                    part: Part::Key,
                    open: Vec::new(),
                    string: None,
                    last: None,
                };
            }
            if state.open.is_empty() && state.string.is_none() {
                let is_header = line.trim_start().starts_with('[');
                state.part = if is_header { Part::Header } else { Part::Key };
                state.last = None;
            }
        }
        if let Some((_, quote)) = state.string {
            if rest.starts_with(quote) {
                state.string = None;
                at += quote.len();
                state.last = Some(Solid {
                    byte: b'"',
                    end: at,
                });
            } else if byte == b'\n' && quote.len() == 1 {
                state.string = None;
            } else if byte == b'\\' && quote.starts_with('"') {
                at += 2;
            } else {
                begins_line = byte == b'\n';
                at += 1;
            }
            continue;
        }
        match byte {
            b'\n' => begins_line = true,
            b'#' => {
                let end = at + rest.find('\n').unwrap_or(rest.len());
                if end >= offset {
                    state.part = Part::Comment;
                    return state;
                }
                at = end;
                continue;
            }
            b'=' if state.part == Part::Key => {
                state.part = Part::Value;
                state.last = Some(Solid { byte, end: at + 1 });
            }
            _ if state.part != Part::Value => {}
            b'"' | b'\'' => {
                let quote = ["\"\"\"", "'''", "\"", "'"]
                    .into_iter()
                    .find(|quote| rest.starts_with(quote));
                let quote = quote.unwrap_or("\"");
                state.string = Some((at, quote));
                at += quote.len();
                continue;
            }
            b'[' | b'{' => {
                if state.open.len() < formats::MAX_DEPTH {
                    state.open.push(byte);
                }
                state.last = Some(Solid { byte, end: at + 1 });
            }
            b']' | b'}' => {
                state.open.pop();
                state.last = Some(Solid { byte, end: at + 1 });
            }
            _ if byte.is_ascii_whitespace() || at >= word => {}
            _ => state.last = Some(Solid { byte, end: at + 1 }),
        }
        at += 1;
    }
    if begins_line && state.open.is_empty() && state.string.is_none() {
        state.part = Part::Key;
    }
    state
}

pub(super) fn draft_form(text: &str, offset: usize, start: usize) -> Option<Form> {
    let state = scan_toml(text, start, offset);
    let line = line_around(text, offset);
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let quoted = Quoted {
        text,
        offset,
        string: state.string,
        comments: COMMENTS,
    };
    match state.part {
        Part::Comment => None,
        Part::Header => {
            let word = run_around(text, offset, in_name);
            let behind = text.get(word.end..line.end).unwrap_or_default();
            let opened = text
                .get(line.start..offset)
                .unwrap_or_default()
                .trim_start();
            let close = if opened.starts_with("[[") { "]]" } else { "]" };
            let after = if behind.contains(']') { "" } else { close };
            Some(Form {
                word,
                after: after.into(),
                has_value: true,
                ..Form::default()
            })
        }
        Part::Key => {
            let word = run_around(text, offset, in_name);
            let behind = text
                .get(word.end..line.end)
                .unwrap_or_default()
                .trim_start();
            let has_value = behind.starts_with(['=', '.']);
            let after = if has_value { "" } else { " = 0" };
            Some(Form {
                word,
                after: after.into(),
                has_value,
                ..Form::default()
            })
        }
        Part::Value => {
            let is_key =
                state.open.last() == Some(&b'{') && state.last.is_none_or(|it| it.byte != b'=');
            let mut form = quoted.write_form(is_key, &state.open, state.last, " = 0", '=');
            if is_key && state.string.is_none() {
                form.before = form.before.replace('"', "");
                form.after = form.after.replacen('"', "", 1);
            }
            let is_tight =
                form.word.start > 0 && text.as_bytes().get(form.word.start - 1) == Some(&b'=');
            if is_tight && state.string.is_none() && form.word.is_empty() {
                form.lead = " ";
            }
            Some(form)
        }
    }
}

pub(super) fn hook_window(text: &str, offset: usize) -> Option<Window> {
    let here = line_around(text, offset);
    let (mut start, mut at) = (None, 0);
    for line in text.split_inclusive('\n') {
        let (line_start, said) = (at, line.trim());
        at += line.len();
        let ends = said.starts_with("[[hooks]]")
            || is_header(said) && !said.trim_matches('[').starts_with("hooks");
        if line_start > here.start {
            if ends {
                return Some(Window {
                    span: start?..line_start,
                    before: "",
                    after: "",
                });
            }
        } else if ends {
            start = said.starts_with("[[hooks]]").then_some(line_start);
        }
    }
    Some(Window {
        span: start?..text.len(),
        before: "",
        after: "",
    })
}
