//! The plan of an event: which of the hooks that apply run when, in the order of the client's
//! system.

use crate::hook::Hook;
use crate::hook_set::{HookSet, Selected};
use hookwire_base::event::{EventSpec, Phase, spec};
use hookwire_base::syntax::source::Layer;
use hookwire_rules::contract::{Composition, Contract};
use std::cmp::Reverse;
use std::sync::Arc;
use std::vec;

/// A hook, or hooks of a foreign dialect, which enter as one: those of a layer, or the dialect's
/// one list.
pub(super) enum Member {
    Hook(Selected),
    /// `layer` is the outermost of its hooks.
    Block {
        contract: &'static Contract,
        layer: Layer,
        members: Vec<Member>,
    },
}

/// The fate of hooks that equal another one, where the dialect runs such hooks once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Equals {
    RunOnce,
    /// They are for different events, or are shown.
    Stay,
}

/// Puts selected hooks in the client's order: blocks for foreign dialects, equal definitions once
/// where the dialect says so. [`turn`] reverses where something closes.
pub(super) fn arrange(
    selected: Vec<Selected>,
    client: &'static Contract,
    event: &EventSpec,
    equals: Equals,
) -> Vec<Member> {
    let runs_once =
        |contract: &Contract| contract.runs_equal_hooks_once && equals == Equals::RunOnce;
    if matches!(&selected[..], [only] if only.hook.contract == client) {
        return selected.into_iter().map(Member::Hook).collect();
    }
    let composition = client.composition;
    let closes_by_layers = event.closes && composition == Composition::Onion;
    let parted = if closes_by_layers {
        parted_lists(&selected, client)
    } else {
        Vec::new()
    };
    let mut keyed: Vec<((Layer, bool, i64), Member)> = Vec::with_capacity(selected.len());
    for selected in selected {
        let layer = selected.hook.source.layer;
        let contract = selected.hook.contract;
        let is_list = contract.has_one_list && !parted.contains(&contract);
        let list = |layer: Layer| {
            if is_list {
                layer.min(Layer::Hooks)
            } else {
                layer
            }
        };
        if contract == client {
            let key = composition.order_key(selected.hook.priority);
            if !(runs_once(client) && keyed.iter().any(|(_, member)| member.is_equal(&selected))) {
                keyed.push(((list(layer), false, key), Member::Hook(selected)));
            }
            continue;
        }
        let block = keyed.iter_mut().find_map(|(_, member)| match member {
            Member::Block {
                contract: theirs,
                layer: at,
                members,
            } if *theirs == contract && list(*at) == list(layer) => Some(members),
            Member::Block { .. } | Member::Hook(_) => None,
        });
        match block {
            Some(members)
                if runs_once(contract)
                    && members.iter().any(|member| member.is_equal(&selected)) => {}
            Some(members) => members.push(Member::Hook(selected)),
            None => {
                let members = vec![Member::Hook(selected)];
                keyed.push((
                    (layer, false, composition.order_key(None)),
                    Member::Block {
                        contract,
                        layer,
                        members,
                    },
                ));
            }
        }
    }
    for (key, member) in &mut keyed {
        if let Member::Block {
            contract,
            layer,
            members,
        } = member
        {
            // In the turned order a list of several layers comes before the other hooks of its
            // outermost one.
            key.1 = closes_by_layers && members.iter().any(|member| member.layer() > *layer);
            members.sort_by_key(|member| contract.composition.order_key(member.priority()));
        }
    }
    // Stable: within one key, the order of the set.
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, member)| member).collect()
}

/// Foreign lists that can't be run as one where something closes, because outer layers judge there
/// what inner ones made: other hooks stand in a layer between those of the list, or there are two
/// such lists.
fn parted_lists(selected: &[Selected], client: &Contract) -> Vec<&'static Contract> {
    let mut spans: Vec<(&'static Contract, Layer, Layer)> = Vec::new();
    for hook in selected.iter().map(|it| &it.hook) {
        let (contract, layer) = (hook.contract, hook.source.layer);
        if contract == client || !contract.has_one_list || layer < Layer::Hooks {
            continue;
        }
        match spans.iter_mut().find(|(it, _, _)| *it == contract) {
            Some((_, outermost, innermost)) => {
                (*outermost, *innermost) = (layer.min(*outermost), layer.max(*innermost))
            }
            None => spans.push((contract, layer, layer)),
        }
    }
    spans.retain(|(_, outermost, innermost)| outermost < innermost);
    let is_alone = spans.len() == 1;
    spans.retain(|(contract, outermost, innermost)| {
        let is_between =
            |hook: &Hook| *outermost < hook.source.layer && hook.source.layer < *innermost;
        !is_alone
            || selected
                .iter()
                .any(|it| it.hook.contract != *contract && is_between(&it.hook))
    });
    spans.into_iter().map(|(contract, _, _)| contract).collect()
}

/// The hooks of a set that are for an event, in the order in which a client has them run if they
/// all apply. Left out are hooks that are switched off, and those that an equal hook stands for.
pub fn order(hooks: &HookSet, event: &str, client: &'static Contract) -> Vec<Arc<Hook>> {
    let Some(spec) = spec(event) else {
        return Vec::new();
    };
    let is_for = |hook: &&Arc<Hook>| hook.enabled && hook.on.includes(event);
    running_order(
        hooks.hooks.iter().filter(is_for),
        client,
        spec,
        Equals::RunOnce,
    )
}

/// All of these hooks, as they are shown to a client: first those that are for the event, in the
/// order in which the client has them run there, then the others. Without an event, all are in the
/// order of one that opens something.
pub fn in_running_order<'h>(
    hooks: impl Iterator<Item = &'h Arc<Hook>>,
    event: Option<&str>,
    client: &'static Contract,
) -> Vec<Arc<Hook>> {
    let spec = spec(event.unwrap_or(OPENS));
    let is_for =
        |hook: &&Arc<Hook>| event.is_none_or(|event| hook.enabled && hook.on.includes(event));
    let (run, others): (Vec<_>, Vec<_>) = hooks.partition(is_for);
    let Some(spec) = spec else {
        return run.into_iter().chain(others).cloned().collect();
    };
    let mut order = running_order(run.into_iter(), client, spec, Equals::Stay);
    order.extend(others.into_iter().cloned());
    order
}

/// An event that opens something.
const OPENS: &str = "PreToolUse";

/// The order in which a client has hooks run at an event.
fn running_order<'h>(
    hooks: impl Iterator<Item = &'h Arc<Hook>>,
    client: &'static Contract,
    event: &EventSpec,
    equals: Equals,
) -> Vec<Arc<Hook>> {
    fn unfold(
        mut members: Vec<Member>,
        composition: Composition,
        event: &EventSpec,
        into: &mut Vec<Arc<Hook>>,
    ) {
        turn(&mut members, composition, event);
        members.into_iter().for_each(|member| match member {
            Member::Hook(selected) => into.push(selected.hook),
            Member::Block {
                contract, members, ..
            } => unfold(members, contract.composition, event, into),
        });
    }
    let selected = hooks.map(|hook| Selected {
        hook: hook.clone(),
        doubt: None,
        about: None,
    });
    let mut order = Vec::new();
    unfold(
        arrange(selected.collect(), client, event, equals),
        client.composition,
        event,
        &mut order,
    );
    order
}

/// Puts members in the order in which they run. Where something closes, inner layers come first,
/// because the outer ones judge the value that goes out.
fn turn(members: &mut [Member], composition: Composition, event: &EventSpec) {
    match composition {
        _ if !event.closes => {}
        Composition::Onion => members.reverse(),
        Composition::Pipeline
        | Composition::Veto
        | Composition::Middleware
        | Composition::Parallel => {
            members.sort_by_key(|member| Reverse(member.stage(composition)));
        }
    }
}

impl Member {
    fn is_equal(&self, other: &Selected) -> bool {
        match self {
            // Hooks that decide differently are not equal: an observer's copy must not replace a
            // guard.
            Member::Hook(it) => {
                let (mine, theirs) = (&it.hook, &other.hook);
                mine.fingerprint == theirs.fingerprint
                    && mine.fail_at(Phase::Gate) == theirs.fail_at(Phase::Gate)
                    && mine.timeout == theirs.timeout
                    && (mine.detached, mine.once, mine.observe)
                        == (theirs.detached, theirs.once, theirs.observe)
                    && it.doubt.is_some() == other.doubt.is_some()
            }
            Member::Block { .. } => false,
        }
    }

    fn layer(&self) -> Layer {
        match self {
            Member::Hook(it) => it.hook.source.layer,
            Member::Block { layer, .. } => *layer,
        }
    }

    /// The outermost layer of those that run in one go where something closes. Other systems know
    /// one list of hooks, but no list has the managed and the user layer in it.
    fn stage(&self, composition: Composition) -> Layer {
        match composition {
            Composition::Onion => self.layer(),
            Composition::Pipeline
            | Composition::Veto
            | Composition::Middleware
            | Composition::Parallel => self.layer().min(Layer::Hooks),
        }
    }

    /// Whether it belongs to the one list of the client's system, whose order and end are that
    /// system's.
    fn is_in_one_list(&self, client: &Contract) -> bool {
        match self {
            Member::Hook(it) => {
                client.has_one_list
                    && it.hook.contract == client
                    && it.hook.source.layer >= Layer::Hooks
            }
            Member::Block { .. } => false,
        }
    }

    fn priority(&self) -> Option<i64> {
        match self {
            Member::Hook(it) => it.hook.priority,
            Member::Block { .. } => None,
        }
    }

    fn runs_in_parallel(&self) -> bool {
        match self {
            // A detached hook isn't waited for, so nothing waits behind it.
            Member::Hook(it) => it.hook.parallel || it.hook.detached,
            Member::Block { .. } => false,
        }
    }
}

/// The members that a chain has yet to run, in order, and where it has ended.
pub(super) struct Rest {
    members: vec::IntoIter<Member>,
    composition: Composition,
    client: &'static Contract,
    closes: bool,
    /// The outermost layer whose answer ended it: for itself and for inner layers, never for an
    /// outer one.
    ended_at: Option<Layer>,
    /// An answer of the one list of the client's system ended it. A list ends as its system says
    /// only for that system's clients: in another chain the layers count.
    has_list_ended: bool,
}

/// The members whose turn it is.
pub(super) enum Turn {
    One(Next),
    /// They run at the same time, on the same value.
    Several(Vec<Next>),
}

pub(super) struct Next {
    pub member: Member,
    /// It belongs to the one list of the client's system.
    pub is_listed: bool,
}

impl Rest {
    /// All of them.
    pub(super) fn of(
        mut members: Vec<Member>,
        contract: &Contract,
        client: &'static Contract,
        event: &EventSpec,
    ) -> Rest {
        let composition = contract.composition;
        turn(&mut members, composition, event);
        let members = members.into_iter();
        Rest {
            members,
            composition,
            client,
            closes: event.closes,
            ended_at: None,
            has_list_ended: false,
        }
    }

    /// Takes the members whose turn it is. A hook for which the chain has ended is given to `skip`,
    /// with the layer that ended it, and runs all the same if it comes back.
    pub(super) fn next_turn(
        &mut self,
        mut skip: impl FnMut(Selected, Option<Layer>) -> Option<Selected>,
    ) -> Option<Turn> {
        let member = loop {
            let member = self.members.next()?;
            if let Some(member) = self.without_ended(member, &mut skip) {
                break member;
            }
        };
        let first = Next {
            is_listed: member.is_in_one_list(self.client),
            member,
        };
        let second = if self.runs_with(&first.member, &first.member) {
            self.next_beside(&first.member)
        } else {
            None
        };
        let Some(second) = second else {
            return Some(Turn::One(first));
        };
        let mut group = vec![first, second];
        while let Some(next) = self.next_beside(&group[0].member) {
            group.push(next);
        }
        Some(Turn::Several(group))
    }

    /// The next member, if it runs at the same time as the first of its group.
    fn next_beside(&mut self, first: &Member) -> Option<Next> {
        self.members
            .as_slice()
            .first()
            .filter(|member| self.runs_with(first, member))?;
        let member = self.members.next()?;
        Some(Next {
            is_listed: member.is_in_one_list(self.client),
            member,
        })
    }

    fn runs_with(&self, first: &Member, member: &Member) -> bool {
        (!is_chain(self.composition) || member.runs_in_parallel())
            && (!self.closes || member.stage(self.composition) == first.stage(self.composition))
            && !self.has_ended_for(member)
    }

    /// Ends the chain for a layer and for inner ones.
    pub(super) fn end_at(&mut self, layer: Layer, is_listed: bool) {
        self.ended_at = self.ended_at.into_iter().chain([layer]).min();
        self.has_list_ended |= is_listed;
    }

    fn has_ended_for(&self, member: &Member) -> bool {
        self.ended_at.is_some_and(|ended| member.layer() >= ended)
            || self.has_list_ended && member.is_in_one_list(self.client)
    }

    /// What of a member is left to run.
    fn without_ended<S>(&self, member: Member, skip: &mut S) -> Option<Member>
    where
        S: FnMut(Selected, Option<Layer>) -> Option<Selected>,
    {
        let has_ended = self.has_ended_for(&member);
        match member {
            Member::Hook(selected) if has_ended => skip(selected, self.ended_at).map(Member::Hook),
            hook @ Member::Hook(_) => Some(hook),
            Member::Block {
                contract,
                layer,
                members,
            } => {
                let left = members
                    .into_iter()
                    .filter_map(|it| self.without_ended(it, skip));
                let members: Vec<Member> = left.collect();
                (!members.is_empty()).then_some(Member::Block {
                    contract,
                    layer,
                    members,
                })
            }
        }
    }
}

/// Whether the composition is one after the other.
pub(super) fn is_chain(composition: Composition) -> bool {
    match composition {
        Composition::Onion
        | Composition::Pipeline
        | Composition::Veto
        | Composition::Middleware => true,
        Composition::Parallel => false,
    }
}
