//! What is written at a place of a definition file, and where in the tree that is.

use hookwire_base::event::Event;
use hookwire_base::event::On;
use hookwire_base::syntax::node::{Entry, Node, NodeValue, Span, Step};
use hookwire_dialects::{self as dialects, Dialect};
use hookwire_handlers::handlers::guards;
use std::sync::Arc;

/// A place in a tree.
#[derive(Debug)]
pub(super) struct Place<'t> {
    /// The keys and positions that lead there from the root; of a key, those of its map.
    pub(super) path: Vec<Step<'t>>,
    /// The key or value there.
    pub(super) what: What<'t>,
}

/// A key or value that is written at a place.
#[derive(Clone, Copy, Debug)]
pub(super) enum What<'t> {
    /// A key with its value.
    Key(&'t Entry),
    /// A value that is neither map nor list.
    Value(&'t Node),
}

impl What<'_> {
    /// Where it is written: the key, or the value.
    pub(super) fn span(&self) -> &Span {
        match self {
            What::Key(entry) => &entry.key_span,
            What::Value(node) => &node.span,
        }
    }
}

/// The key or value at a byte of the text. The byte just behind it counts as well.
pub(super) fn place_at(root: &Node, offset: usize) -> Option<Place<'_>> {
    let mut path = Vec::new();
    let what = find_place(root, offset, &mut path)?;
    Some(Place { path, what })
}

// The parser bounds the depth. A TOML table's members are outside of its span: each is looked at.
fn find_place<'t>(node: &'t Node, offset: usize, path: &mut Vec<Step<'t>>) -> Option<What<'t>> {
    let holds = |span: &Span| span.start <= offset && offset <= span.end && !span.is_empty();
    if let Some(entry) = node.entries().iter().find(|entry| holds(&entry.key_span)) {
        return Some(What::Key(entry));
    }
    if !matches!(node.value, NodeValue::Map(_) | NodeValue::Seq(_)) {
        return holds(&node.span).then_some(What::Value(node));
    }
    node.children().find_map(|(step, child)| {
        path.push(step);
        find_place(child, offset, path).or_else(|| path.pop().and(None))
    })
}

/// A path as the system that the file is written for understands it.
pub(super) struct Here<'t> {
    /// The hook that it is in.
    pub(super) hook: Option<&'t Node>,
    /// The path as the schema has it: other systems' files have their hooks elsewhere.
    pub(super) path: Vec<Step<'t>>,
    /// The vocabulary.
    pub(super) dialect: &'static Dialect,
    /// The event that the hook is listed under in a file of another system.
    listed_under: Option<&'t str>,
}

impl<'t> Here<'t> {
    /// Of a path in a file; `text` is the whole of it, if `root` isn't.
    pub(super) fn new(root: &'t Node, path: &[Step<'t>], text: &str) -> Here<'t> {
        let of_file = match root.get("dialect") {
            Some(node) => node.text().and_then(|name| dialects::by_name(name).ok()),
            None => dialect_line(text).or_else(|| dialects::recognise_file(root)),
        };
        let of_file = of_file.unwrap_or_else(dialects::native);
        let mut node = Some(root);
        let mut found: Option<(usize, &'t Node, Option<&'t str>)> = None;
        let mut previous: &[Step<'_>] = &[];
        for (at, step) in path.iter().enumerate() {
            node = node.and_then(|node| node.at(&[*step]));
            if let (Step::Index(_), [.., Step::Key(list)], Some(hook), None) =
                (step, previous, node, found)
            {
                let is_below = previous.contains(&Step::Key("hooks"));
                if previous == [Step::Key("hooks")] {
                    found = Some((at, hook, None));
                } else if is_below && dialects::canonical_names(list, of_file.name()).is_ok() {
                    found = Some((at, hook, Some(list)));
                }
            }
            previous = path.get(..=at).unwrap_or_default();
        }
        let own = found
            .and_then(|(_, hook, _)| hook.get("dialect"))
            .and_then(Node::text);
        let dialect = own
            .and_then(|name| dialects::by_name(name).ok())
            .unwrap_or(of_file);
        let path = match found {
            Some((at, ..)) => {
                let rest = path.get(at + 1..).unwrap_or_default();
                [Step::Key("hooks"), Step::Index(0)]
                    .into_iter()
                    .chain(rest.iter().copied())
                    .collect()
            }
            None => path.to_vec(),
        };
        let listed_under = found.and_then(|(.., list)| list);
        Here {
            hook: found.map(|(_, hook, _)| hook),
            path,
            dialect,
            listed_under,
        }
    }

    /// The path within the hook; empty outside of one, and for the hook itself.
    pub(super) fn path_in_hook(&self) -> &[Step<'t>] {
        self.path
            .get(2..)
            .filter(|_| self.hook.is_some())
            .unwrap_or_default()
    }

    /// The canonical names of the hook's events; `None` if it is for every event, or if that is
    /// unknown.
    pub(super) fn events(&self) -> Option<Vec<Arc<str>>> {
        let hook = self.hook?;
        let names: Vec<&str> = match (hook.get("on").map(|on| &on.value), self.listed_under) {
            (_, Some(event)) => vec![event],
            (Some(NodeValue::String(name)), None) => vec![name],
            (Some(NodeValue::Seq(names)), None) => names.iter().filter_map(Node::text).collect(),
            (_, None) => {
                return match guards::meant(hook.get("guard")?)?.natural_events() {
                    On::Every => None,
                    On::Names(names) => Some(names),
                };
            }
        };
        if names.contains(&"*") {
            return None;
        }
        let names = names
            .iter()
            .filter_map(|name| dialects::canonical_names(name, self.dialect.name()).ok())
            .flatten();
        let names: Vec<_> = names.collect();
        (!names.is_empty()).then_some(names)
    }

    /// Of these events those that the hook is for.
    pub(super) fn relevant_events<'s>(&self, events: &'s [Arc<Event>]) -> Vec<&'s Event> {
        let names = self.events();
        events
            .iter()
            .filter(|event| {
                names
                    .as_ref()
                    .is_none_or(|names| names.contains(&event.name))
            })
            .map(|event| &**event)
            .collect()
    }
}

/// The dialect that a file names on a line of its own, also when the file is broken.
fn dialect_line(text: &str) -> Option<&'static Dialect> {
    let line = text.lines().find_map(|line| {
        line.trim_start()
            .trim_start_matches('"')
            .strip_prefix("dialect")
    })?;
    let name = line.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    dialects::by_name(name).ok()
}
