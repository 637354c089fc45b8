//! The capabilities of instructor's agents that register hooks, as hookwire's own definitions.

use crate::files::{make_entry, text_value, unknown_word, wrong_type};
use crate::{Dialect, OwnKeys};
use hookwire_base::syntax::node::{Entry, Node, NodeValue, Span};
use hookwire_base::syntax::problem::Problem;

/// The members of a file that register hooks: its two capabilities.
pub(crate) const CAPABILITIES: [&str; 2] = ["useGuards", "useContextConfig"];

/// A file that names one of the capabilities.
pub(super) fn recognises_file(root: &Node) -> bool {
    CAPABILITIES.iter().any(|key| root.get(key).is_some())
}

/// `useGuards` and `useContextConfig` become the hooks that they register, in the order of the
/// file.
pub(super) fn read_capabilities(
    _: &Dialect,
    root: &Node,
    _: OwnKeys,
    problems: &mut Vec<Problem>,
) -> Node {
    let NodeValue::Map(written) = &root.value else {
        return root.clone();
    };
    let mut entries = Vec::new();
    let mut hooks = Vec::new();
    let mut at = None;
    for entry in written {
        match (entry.key.as_str(), &entry.value.value) {
            ("useGuards", _) => hooks.extend(use_guards(entry, problems)),
            ("useContextConfig", _) => hooks.extend(use_context_config(entry, problems)),
            ("hooks", NodeValue::Seq(items)) => {
                hooks.extend(items.iter().cloned());
                at = Some((entry.key_span.clone(), entry.value.span.clone()));
            }
            _ => entries.push(entry.clone()),
        }
    }
    if !hooks.is_empty() || at.is_some() {
        let (key_span, span) = at.unwrap_or_else(|| (root.span.clone(), root.span.clone()));
        entries.push(Entry {
            key: "hooks".into(),
            key_span,
            value: Node {
                span,
                value: NodeValue::Seq(hooks),
            },
        });
    }
    Node {
        span: root.span.clone(),
        value: NodeValue::Map(entries),
    }
}

/// The settings of a capability; an empty value and `true` mean its defaults, `false` means none of
/// it.
fn read_settings<'a, const N: usize>(
    entry: &'a Entry,
    known: [&str; N],
    problems: &mut Vec<Problem>,
) -> Option<[Option<&'a Node>; N]> {
    let capability = &entry.key;
    match &entry.value.value {
        NodeValue::Null | NodeValue::Bool(true) => {}
        NodeValue::Bool(false) => return None,
        NodeValue::Map(settings) => {
            for setting in settings
                .iter()
                .filter(|setting| !known.contains(&setting.key.as_str()))
            {
                let message = format!("`{capability}`: unknown field `{}`", setting.key);
                problems.push(unknown_word(
                    &setting.key_span,
                    "unknown-field",
                    message,
                    &setting.key,
                    known,
                ));
            }
        }
        NodeValue::Int(_)
        | NodeValue::UInt(_)
        | NodeValue::Float(_)
        | NodeValue::Long(_)
        | NodeValue::String(_)
        | NodeValue::Seq(_) => {
            let help = Some(format!("settings are {}", known.join(", ")));
            problems.push(Problem {
                help,
                ..wrong_type(&entry.value, &format!("`{capability}`"), "a map")
            });
            return None;
        }
    }
    Some(known.map(|key| entry.value.get(key)))
}

fn use_guards(entry: &Entry, problems: &mut Vec<Problem>) -> Vec<Node> {
    let known = ["maxSteps", "maxTokens", "maxExecutionTime", "finishReasons"];
    let Some([steps, tokens, time, reasons]) = read_settings(entry, known, problems) else {
        return Vec::new();
    };
    let before = &["before_step"][..];
    // Name, events, priority, the guard with its setting's name, the setting, its default.
    let rows = [
        (
            "guard:steps_limit",
            before,
            200,
            ("step-limit", "max"),
            steps,
            NodeValue::Int(20),
        ),
        (
            "guard:token_limit",
            before,
            200,
            ("token-limit", "max"),
            tokens,
            NodeValue::Int(32_768),
        ),
        (
            "guard:time_limit",
            &["before_execution", "before_step"][..],
            200,
            ("time-limit", "max"),
            time,
            NodeValue::Float(300.0),
        ),
        (
            "guard:finish_reason",
            &["after_step"][..],
            -200,
            ("finish-reason", "stop"),
            reasons,
            NodeValue::Null,
        ),
    ];
    rows.into_iter()
        .filter_map(|(name, on, priority, (guard, field), setting, default)| {
            let default = Node {
                span: entry.key_span.clone(),
                value: default,
            };
            let value = setting.unwrap_or(&default);
            let off = matches!(&value.value, NodeValue::Null)
                || matches!(&value.value, NodeValue::Seq(it) if it.is_empty());
            (!off).then(|| {
                define_guard(
                    &value.span,
                    name,
                    on,
                    priority,
                    guard,
                    vec![(field, value.clone())],
                )
            })
        })
        .collect()
}

fn use_context_config(entry: &Entry, problems: &mut Vec<Problem>) -> Option<Node> {
    let known = ["systemPrompt", "responseFormat"];
    let given = read_settings(entry, known, problems)?;
    let given = known
        .into_iter()
        .zip(given)
        .filter_map(|(key, node)| Some((key, node?.clone())));
    // An empty setting is not applied.
    let given: Vec<_> = given
        .filter(|(_, node)| {
            !(match &node.value {
                NodeValue::Null => true,
                NodeValue::String(text) => text.is_empty(),
                NodeValue::Seq(items) => items.is_empty(),
                NodeValue::Map(entries) => entries.is_empty(),
                NodeValue::Bool(_)
                | NodeValue::Int(_)
                | NodeValue::UInt(_)
                | NodeValue::Float(_)
                | NodeValue::Long(_) => false,
            })
        })
        .collect();
    let span = &entry.value.span;
    (!given.is_empty()).then(|| {
        define_guard(
            span,
            "context:config",
            &["before_execution"],
            100,
            "context-config",
            given,
        )
    })
}

/// A definition of a guard. All of it is written at one place, except the settings.
fn define_guard(
    span: &Span,
    name: &str,
    on: &[&str],
    priority: i64,
    guard: &str,
    settings: Vec<(&str, Node)>,
) -> Node {
    let node = |value| Node {
        span: span.clone(),
        value,
    };
    let settings = NodeValue::Map(
        settings
            .into_iter()
            .map(|(key, value)| Entry {
                key: key.into(),
                key_span: span.clone(),
                value,
            })
            .collect(),
    );
    node(NodeValue::Map(vec![
        make_entry("name", span, text_value(name)),
        make_entry(
            "on",
            span,
            NodeValue::Seq(on.iter().map(|it| node(text_value(*it))).collect()),
        ),
        make_entry("priority", span, NodeValue::Int(priority)),
        make_entry(
            "guard",
            span,
            NodeValue::Map(vec![make_entry(guard, span, settings)]),
        ),
    ]))
}
