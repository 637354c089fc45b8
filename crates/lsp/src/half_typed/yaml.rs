//! What is open at a place of a YAML text, and the hook around it.

use super::{Form, Window, closing_brackets, closing_quote, is_bare, line_around, run_around};
use hookwire_base::syntax::formats;

/// The brackets and quotes that are open at a place of a YAML text.
#[derive(Default)]
struct Yaml {
    open: Vec<u8>,
    quote: Option<(u8, usize)>,
    in_block: bool,
    in_comment: bool,
    /// Where what the line says begins, behind its dashes.
    content: usize,
}

fn scan_yaml(text: &str, start: usize, offset: usize) -> Yaml {
    let mut state = Yaml::default();
    // The column that the texts of a block scalar are right of.
    let mut block: Option<usize> = None;
    let mut opener_indent = 0;
    let mut line_start = start;
    let source = text.get(start..).unwrap_or_default();
    for line in source.split_inclusive('\n') {
        let start = line_start;
        line_start += line.len();
        let is_last = offset < line_start || line_start == text.len() && !line.ends_with('\n');
        let bare = line.trim_end_matches(['\n', '\r']);
        let indent = bare.len() - bare.trim_start_matches(' ').len();
        let is_blank = bare.trim().is_empty();
        state.content = start + indent;
        if let Some(column) = block {
            let indent = if is_last && is_blank {
                offset.saturating_sub(start)
            } else {
                indent
            };
            if indent > column || (is_blank && !is_last) {
                if is_last {
                    state.in_block = true;
                    return state;
                }
                continue;
            }
            block = None;
        }
        let is_open = !state.open.is_empty() || state.quote.is_some();
        if is_open
            && !is_blank
            && indent <= opener_indent
            && !bare.trim_start().starts_with([']', '}'])
        {
            // It isn't closed, so it is half typed.
            state.open.clear();
            state.quote = None;
        }
        if state.open.is_empty() && state.quote.is_none() {
            opener_indent = indent;
        }
        let until = if is_last {
            offset.saturating_sub(start).min(bare.len())
        } else {
            bare.len()
        };
        scan_line(
            bare.as_bytes().get(..until).unwrap_or_default(),
            bare.as_bytes(),
            start,
            &mut state,
        );
        if is_last {
            return state;
        }
        state.in_comment = false;
        if state.open.is_empty() && state.quote.is_none() && is_block_header(bare) {
            let content = state.content - start;
            let has_key = bare
                .get(content..)
                .is_some_and(|it| it.contains(": ") || it.contains(":\t"));
            block = Some(if has_key {
                content
            } else {
                content.saturating_sub(2)
            });
        }
    }
    state.content = line_start;
    state
}

fn scan_line(line: &[u8], whole: &[u8], start: usize, state: &mut Yaml) {
    let mut at = 0;
    let mut starts_token = true;
    let mut only_dashes = true;
    while let Some(byte) = line.get(at).copied() {
        let next = whole.get(at + 1).copied();
        let is_spaced = next.is_none_or(|it| it == b' ' || it == b'\t');
        if let Some((quote, _)) = state.quote {
            match byte {
                b'\\' if quote == b'"' => at += 1,
                b'\'' if quote == b'\'' && next == Some(b'\'') => at += 1,
                _ if byte == quote => state.quote = None,
                _ => {}
            }
            (starts_token, only_dashes) = (false, false);
            at += 1;
            continue;
        }
        let was_dash = only_dashes && byte == b'-' && is_spaced;
        match byte {
            b' ' | b'\t' => {}
            b'#' if at == 0 || line.get(at - 1).is_some_and(u8::is_ascii_whitespace) => {
                state.in_comment = true;
                return;
            }
            b'"' | b'\'' if starts_token => state.quote = Some((byte, start + at)),
            b'[' | b'{' if starts_token || !state.open.is_empty() => {
                if state.open.len() < formats::MAX_DEPTH {
                    state.open.push(byte);
                }
                starts_token = true;
            }
            b']' | b'}' if !state.open.is_empty() => {
                state.open.pop();
                starts_token = false;
            }
            b',' if !state.open.is_empty() => starts_token = true,
            b':' if is_spaced => starts_token = true,
            _ if was_dash => {
                let gap = whole
                    .get(at + 1..)
                    .unwrap_or_default()
                    .iter()
                    .take_while(|it| **it == b' ')
                    .count();
                state.content = start + at + 1 + gap;
            }
            _ => starts_token = false,
        }
        only_dashes &= was_dash || matches!(byte, b' ' | b'\t');
        at += 1;
    }
}

fn is_block_header(line: &str) -> bool {
    let line = line.split(" #").next().unwrap_or_default().trim_end();
    let head = line.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'));
    let head = head.strip_suffix(['|', '>']);
    head.is_some_and(|head| head.ends_with([' ', '\t']) && head.trim_end().ends_with([':', '-']))
}

pub(super) fn draft_forms(text: &str, offset: usize, start: usize) -> Vec<Form> {
    let state = scan_yaml(text, start, offset);
    if state.in_comment {
        return Vec::new();
    }
    let line = line_around(text, offset);
    let behind = text.get(offset..line.end).unwrap_or_default();
    let as_is = Form {
        word: offset..offset,
        in_flow: !state.open.is_empty(),
        ..Form::default()
    };
    if state.in_block {
        return vec![as_is];
    }
    let as_is = Form {
        closers: closing_brackets(&state.open),
        ..as_is
    };
    if let Some((quote, opened)) = state.quote {
        let text_quote = if quote == b'"' { "\"" } else { "'" };
        let end = run_around(text, offset, is_bare).end;
        let closed = Form {
            word: offset..end,
            after: text_quote.into(),
            ..as_is.clone()
        };
        return match closing_quote(behind, quote, ",]}:#") {
            Some(end) => vec![Form {
                word: offset..offset + end,
                ..as_is
            }],
            None if opened >= line.start => vec![closed, as_is],
            None => vec![as_is, closed],
        };
    }
    let head = text
        .get(state.content.min(offset)..offset)
        .unwrap_or_default();
    let previous = text
        .get(line.start..offset)
        .and_then(|it| it.chars().next_back());
    let is_dash = previous == Some('-') && head.is_empty() && behind.trim().is_empty();
    // `key:` and `-` mean nothing without a blank behind them.
    let is_colon = previous == Some(':') && (behind.trim().is_empty() || !state.open.is_empty());
    let lead = if is_dash || is_colon { " " } else { "" };
    let as_is = Form {
        before: lead.into(),
        lead,
        ..as_is
    };
    if !state.open.is_empty() {
        let word = run_around(text, offset, is_bare);
        let next = text
            .get(word.end..)
            .unwrap_or_default()
            .trim_start_matches([' ', '\t'])
            .chars()
            .next();
        let has_value = next == Some(':');
        return vec![Form {
            word: offset..word.end,
            has_value,
            ..as_is
        }];
    }
    let is_indent = head.is_empty() && !behind.trim().is_empty() && behind.starts_with([' ', '\t']);
    if is_indent || offset < state.content && !behind.trim().is_empty() {
        return Vec::new();
    }
    let word = head.trim_start();
    let is_word =
        !word.contains(|c: char| c.is_whitespace() || matches!(c, ':' | '"' | '\'' | '['));
    let end = offset + behind.find(|c: char| !is_bare(c)).unwrap_or(behind.len());
    let tail = text.get(end..line.end).unwrap_or_default().trim();
    if is_colon || !is_word || !(tail.is_empty() || tail.starts_with('#')) {
        let has_value = is_word && tail.starts_with(':');
        return vec![Form { has_value, ..as_is }];
    }
    // A word alone on its line may become a key, be a value, or begin a new item.
    let word_start = if lead == " " {
        offset
    } else {
        offset - word.len()
    };
    let key = Form {
        word: word_start..end,
        before: lead.into(),
        after: ":".into(),
        lead,
        ..Form::default()
    };
    let value = Form {
        word: word_start..end,
        after: String::new(),
        ..key.clone()
    };
    let is_item = text
        .get(line.start..word_start)
        .is_some_and(|it| it.contains('-'))
        || lead == " ";
    let item = Form {
        before: "- ".into(),
        lead: "- ",
        ..key.clone()
    };
    let mut forms = vec![key, value];
    forms.extend((!is_item).then_some(item));
    forms
}

pub(super) fn hook_window(text: &str, offset: usize) -> Option<Window> {
    let here = line_around(text, offset);
    let mut item_indent = None;
    let (mut start, mut below_hooks, mut at) = (None, false, 0);
    for line in text.split_inclusive('\n') {
        let (line_start, bare) = (at, line.trim_end());
        at += line.len();
        let indent = bare.len() - bare.trim_start_matches(' ').len();
        let said = bare.trim_start();
        let is_item = said == "-" || said.starts_with("- ");
        let is_said = !said.is_empty() && !said.starts_with('#');
        if line_start > here.start {
            // Ends before the next item, or where the list does.
            if is_said && item_indent.is_some_and(|item_indent| indent <= item_indent) {
                return Some(Window {
                    span: start?..line_start,
                    before: "hooks:\n",
                    after: "",
                });
            }
            continue;
        }
        if is_said && indent == 0 && !is_item && line_start < here.start {
            below_hooks = said.starts_with("hooks:");
            (item_indent, start) = (None, None);
        } else if below_hooks
            && is_item
            && item_indent.is_none_or(|item_indent| item_indent == indent)
        {
            (item_indent, start) = (Some(indent), Some(line_start));
        }
    }
    Some(Window {
        span: start?..text.len(),
        before: "hooks:\n",
        after: "",
    })
}
