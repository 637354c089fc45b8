//! What the files together make of a hook: when it runs among the others.

use super::document::Document;
use super::plain_text::one_line;
use super::project::Project;
use super::surroundings::Surroundings;
use hookwire_base::event::On;
use hookwire_base::event::{CUSTOM_PREFIX, EVENTS};
use hookwire_base::syntax::source::Layer;
use hookwire_engine::engine;
use hookwire_engine::hook::Hook;
use hookwire_engine::hook_set::HookSet;
use hookwire_rules::contract::Composition;
use ls_types::{
    InlayHint, InlayHintLabel, InlayHintTooltip, MarkupContent, MarkupKind, Position, Range,
};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most events of a hook whose order is told.
const MAX_EVENTS: usize = 20;
/// What stands between the value and its hint.
const GAP: &str = "   ";
/// Stands for the events that no hook names.
const OTHER: &str = "custom:*";

pub(super) fn inlay_hints(
    document: &Document,
    range: Range,
    around: &Surroundings<'_>,
) -> Vec<InlayHint> {
    let lines = document.lines();
    let layer = around.layer_of(&document.path);
    let Some(readable) = document.readable() else {
        return Vec::new();
    };
    let hooks = readable.document.hooks().iter();
    let hooks: Vec<_> = hooks
        .filter_map(|hook| Some((hook, readable.part(&hook.span)?)))
        .collect();
    let line_of = |at: usize| lines.index.utf8(at).0;
    let mut per_line: HashMap<usize, usize> = HashMap::new();
    for (_, span) in &hooks {
        *per_line.entry(line_of(span.start)).or_default() += 1;
    }
    let mut orders = None;
    let mut hints = Vec::new();
    for (compiled, span) in hooks {
        let line = line_of(span.start);
        // Where several share a line, its end would be a riddle.
        let offset = match per_line.get(&line) {
            Some(1) | None => lines.index.offset_of_utf8(line, usize::MAX),
            Some(_) => span.end,
        };
        let position = lines.position(offset);
        if position < range.start || position > range.end {
            continue;
        }
        let (label, tooltip) = match &compiled.hook {
            None => (
                "broken: not in force".into(),
                "It is not in force as it stands here.".into(),
            ),
            Some(hook) if !hook.enabled => (
                "off: never runs".into(),
                "Switched off with `enabled: false`.".into(),
            ),
            Some(hook) => {
                let orders = orders.get_or_insert_with(|| {
                    Orders::new(Arc::new(in_force(
                        around.project.as_ref(),
                        readable.document,
                        layer,
                    )))
                });
                order_in_words(hook, orders, layer.is_some())
            }
        };
        hints.push(make_hint(position, label, tooltip));
    }
    hints
}

fn make_hint(position: Position, label: String, tooltip: String) -> InlayHint {
    InlayHint {
        position,
        // One blank is what editors leave; so near it would read as a part of the value.
        label: InlayHintLabel::String(format!("{GAP}{label}")),
        kind: None,
        text_edits: None,
        tooltip: Some(InlayHintTooltip::MarkupContent(MarkupContent {
            kind: MarkupKind::Markdown,
            value: tooltip,
        })),
        padding_left: Some(true),
        padding_right: None,
        data: None,
    }
}

/// The hooks that would be in force if a document were saved; if its file isn't loaded, only its
/// own hooks.
fn in_force(project: Option<&Project>, document: &Document, layer: Option<Layer>) -> HookSet {
    let mut hooks: Vec<Arc<Hook>> = Vec::new();
    let workspace = project.filter(|_| layer.is_some());
    let dirs = workspace.map(Project::dirs).unwrap_or_default();
    if let Some(workspace) = workspace {
        let file = document.file();
        hooks.extend(
            workspace
                .hooks()
                .hooks
                .iter()
                .filter(|hook| *hook.source.file != *file)
                .cloned(),
        );
    }
    hooks.extend(document.hooks().iter().filter_map(|hook| hook.hook.clone()));
    // As the loader hands them over: by directory, file and position.
    hooks.sort_by_cached_key(|hook| {
        let file = Path::new(&*hook.source.file);
        let dir = dirs.iter().rposition(|dir| file.starts_with(&dir.path));
        (dir, PathBuf::from(file), hook.source.position)
    });
    HookSet::new(hooks, 0, "".into(), Vec::new())
}

/// The order of running at each event, worked out once an event.
pub(super) struct Orders {
    set: Arc<HookSet>,
    known: HashMap<(Arc<str>, &'static str), Order>,
}

struct Order {
    hooks: Vec<Arc<Hook>>,
    /// Counted from 0, by where the hook is in memory.
    places: HashMap<*const Hook, usize>,
}

impl Orders {
    pub(super) fn new(set: Arc<HookSet>) -> Orders {
        Orders {
            set,
            known: HashMap::new(),
        }
    }

    pub(super) fn hooks(&self) -> &HookSet {
        &self.set
    }

    /// A hook's place among all that are for an event, counted from 1; `None` when it isn't one of
    /// them.
    pub(super) fn place_of(
        &mut self,
        hook: &Arc<Hook>,
        event: &Arc<str>,
    ) -> Option<(usize, usize)> {
        let order = self.order_at(hook, event);
        Some((order.places.get(&Arc::as_ptr(hook))? + 1, order.hooks.len()))
    }

    /// In the eyes of a client that speaks the hook's vocabulary.
    fn order_at(&mut self, hook: &Hook, event: &Arc<str>) -> &Order {
        let Orders { set, known } = self;
        known
            .entry((event.clone(), hook.contract.dialect))
            .or_insert_with(|| {
                let name = if **event == *"*" { OTHER } else { event };
                let hooks = engine::order(set, name, hook.contract);
                let places = hooks
                    .iter()
                    .enumerate()
                    .map(|(place, hook)| (Arc::as_ptr(hook), place))
                    .collect();
                Order { hooks, places }
            })
    }
}

/// The events whose order concerns a hook: of one for every event, those that others name, and `*`
/// for the rest.
pub(super) fn events_of(hook: &Hook, set: &HookSet) -> Vec<Arc<str>> {
    match &hook.on {
        On::Names(names) => names.iter().take(MAX_EVENTS).cloned().collect(),
        On::Every => {
            let mut named: HashSet<&Arc<str>> = HashSet::new();
            for hook in set.hooks.iter().filter(|hook| hook.enabled) {
                if let On::Names(names) = &hook.on {
                    named.extend(names);
                }
            }
            let mut named: Vec<_> = named.into_iter().cloned().collect();
            named.sort_by_cached_key(|name| {
                (
                    EVENTS
                        .iter()
                        .position(|event| *event.name == **name)
                        .unwrap_or(EVENTS.len()),
                    name.clone(),
                )
            });
            named.truncate(MAX_EVENTS - 1);
            named.push("*".into());
            named
        }
    }
}

/// The hint at a hook that runs, and what it says when asked for more.
fn order_in_words(hook: &Arc<Hook>, orders: &mut Orders, is_loaded: bool) -> (String, String) {
    let events = events_of(hook, orders.hooks());
    let composition = hook.contract.composition;
    let mut label = String::new();
    let mut rows = String::new();
    for event in &events {
        let place = orders.place_of(hook, event);
        let named = match &**event {
            "*" if events.len() == 1 => "every event",
            "*" => "any other event",
            name => name.strip_prefix(CUSTOM_PREFIX).unwrap_or(name),
        };
        if label.is_empty() {
            let more = match events.len().saturating_sub(1) {
                0 => String::new(),
                1 => ", +1 event".into(),
                more => format!(", +{more} events"),
            };
            label = in_words(
                composition,
                place,
                &format!("{}{more}", one_line(named, 60)),
            );
        }
        let order = orders.order_at(hook, event);
        let at = |place: usize| order.hooks.get(place).map(|hook| code_cell(&hook.name));
        let cells = match place {
            Some((place, of)) => {
                let before = place.checked_sub(2).and_then(at);
                (format!("{} of {of}", ordinal(place)), before, at(place))
            }
            None => ("runs once with an equal one".into(), None, None),
        };
        let (place, before, after) = cells;
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        rows.push_str(&format!(
            "| {} | {place} | {before} | {after} |\n",
            table_cell(&one_line(named, 60))
        ));
    }
    let outside = if is_loaded {
        ""
    } else {
        "\n\nThis file is in none of the directories that are loaded: only its own hooks are counted."
    };
    let tooltip = format!(
        "{}\n\n| event | place | after | before |\n|---|---|---|---|\n{rows}{outside}",
        explain_composition(composition)
    );
    (label, tooltip)
}

/// A place in an order, as its composition makes it matter.
fn in_words(composition: Composition, place: Option<(usize, usize)>, event: &str) -> String {
    let Some((place, of)) = place else {
        return format!("runs once with an equal hook at {event}");
    };
    match composition {
        _ if of == 1 => format!("the only hook at {event}"),
        Composition::Parallel if of == 2 => format!("runs at once with 1 other at {event}"),
        Composition::Parallel => format!("runs at once with {} others at {event}", of - 1),
        Composition::Onion
        | Composition::Pipeline
        | Composition::Veto
        | Composition::Middleware => {
            format!("runs {} of {of} at {event}", ordinal(place))
        }
    }
}

fn explain_composition(composition: Composition) -> &'static str {
    match composition {
        Composition::Onion => {
            "**onion**: outer layers first, then by priority, lowest first; from within after the fact. A deny stops the others."
        }
        Composition::Pipeline => {
            "**pipeline**: in order of registration. A deny stops the others, the last rewrite wins."
        }
        Composition::Veto => {
            "**veto**: in order of registration. All run, and every reason of a deny is collected."
        }
        Composition::Middleware => {
            "**middleware**: by priority, highest first. All run; a deny stays."
        }
        Composition::Parallel => {
            "**parallel**: all at once on the same event; their answers are combined in this order."
        }
    }
}

/// `1st`, `2nd`, `11th`.
fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// A name in a cell of a Markdown table.
fn code_cell(name: &str) -> String {
    format!("`{}`", table_cell(&one_line(name, 60).replace('`', "'")))
}

fn table_cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_words() {
        use Composition::{Middleware, Onion, Parallel, Pipeline, Veto};
        for (composition, place, expected) in [
            (Onion, Some((2, 5)), "runs 2nd of 5 at Stop"),
            (Onion, Some((11, 21)), "runs 11th of 21 at Stop"),
            (Onion, Some((1, 1)), "the only hook at Stop"),
            (Pipeline, Some((3, 3)), "runs 3rd of 3 at Stop"),
            (Veto, Some((1, 2)), "runs 1st of 2 at Stop"),
            (Middleware, Some((22, 22)), "runs 22nd of 22 at Stop"),
            (Parallel, Some((2, 2)), "runs at once with 1 other at Stop"),
            (Parallel, Some((2, 5)), "runs at once with 4 others at Stop"),
            (Parallel, None, "runs once with an equal hook at Stop"),
        ] {
            assert_eq!(in_words(composition, place, "Stop"), expected);
        }
        assert_eq!(code_cell("a|`b`\n"), "`a\\|'b'`");
    }
}
