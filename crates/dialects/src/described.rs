//! The dialects of coding agents whose facts say all of it: `agents/NAME.toml` has their events,
//! where members of payloads live, and where in a reply each part of a verdict goes.
//!
//! What a reply has no place for is a deny, where a deny is obeyed: a question, a rewrite, the end
//! of the run.

use super::claude_code::{self, block_event, reason_of_deny};
use super::decisive::check_understood;
use super::native::AGENT;
use super::replies::{
    BLOCKED, bad_exit, denied_verdict, describe_unread, is_decided, parse_stdout, removes_members,
    reply_members, stop_denies, text_member, text_or, unreadable_reply,
};
use super::{CodingAgent, Dialect, EventRow, McpNames, Refusal, Turn, settings};
use hookwire_base::event::{Event, set_pointer, spec};
use hookwire_base::support::json::parse;
use hookwire_base::verdict::{Answer, Decision, Verdict};
use hookwire_rules::agents::{self, Agent, DESCRIBED, Moment, Pair, Reply, Say, Speech};
use hookwire_rules::contract::{Contract, Exit, TOOL_NAME, Target};
use hookwire_rules::matching::MatcherRule;
use serde_json::{Map, Value};
use std::sync::OnceLock;
use std::time::Duration;

/// A dialect with what its agent's facts say beside it.
#[derive(Debug)]
struct Described {
    dialect: Dialect,
    agent: &'static Agent,
    speech: &'static Speech,
}

/// Each agent's dialect, made when it is first asked for: the facts of others aren't read for it.
static MADE: [OnceLock<Option<Described>>; DESCRIBED.len()] =
    [const { OnceLock::new() }; DESCRIBED.len()];

/// How each is made. A contract's functions are told no name, so each dialect has functions of its
/// own.
const MAKERS: [fn() -> Option<&'static Described>; DESCRIBED.len()] = [
    made::<0>, made::<1>, made::<2>, made::<3>, made::<4>, made::<5>, made::<6>, made::<7>,
    made::<8>,
];

/// The dialect of a name, if it is one of these.
pub(super) fn by_name(name: &str) -> Option<&'static Dialect> {
    let n = DESCRIBED.iter().position(|it| *it == name)?;
    MAKERS[n]().map(|it| &it.dialect)
}

/// All of them.
pub(super) fn all_described() -> impl Iterator<Item = &'static Dialect> {
    MAKERS
        .iter()
        .filter_map(|make| make().map(|it| &it.dialect))
}

fn made<const N: usize>() -> Option<&'static Described> {
    MADE[N].get_or_init(make_described::<N>).as_ref()
}

/// The facts of an agent live as long as the program, and so does what is made of them once.
fn make_described<const N: usize>() -> Option<Described> {
    let agent = agents::by_name(DESCRIBED[N]).ok()?;
    let speech = agent.speaks.as_ref()?;
    let asks =
        speech.replies_as_claude_code || speech.replies.values().any(|reply| reply.ask.is_some());
    let names = speech
        .event_names
        .iter()
        .map(|place| (&**place, super::EVENT));
    let all: Vec<_> = names.chain(borrow_pairs(&speech.members)).collect();
    let dialect = Dialect {
        about: &speech.about,
        contract: Contract {
            dialect: DESCRIBED[N],
            runs_equal_hooks_once: speech.runs_equal_hooks_once,
            matcher: MatcherRule::Search,
            matched: matcher_target::<N>,
            timeout: Duration::from_secs(if speech.timeout == 0 {
                60
            } else {
                speech.timeout
            }),
            decisions: if asks { &[Decision::Ask] } else { &[] },
            context_resumes: speech.context_resumes,
            payload: write_payload::<N>,
            reply: read_reply::<N>,
            exit: read_exit::<N>,
            ..AGENT
        },
        events: speech
            .events
            .iter()
            .map(make_row)
            .collect::<Vec<_>>()
            .leak(),
        event_name: &speech.event_name,
        members: all.leak(),
        complete: complete_event::<N>,
        reply: write_reply::<N>,
        files: agent.file().map(|_| settings::FILES),
        agent: Some(CodingAgent {
            refusal: if speech.refuses_by_reply {
                Refusal::Reply
            } else {
                Refusal::ExitCode(&[])
            },
            withholds: speech.withholds,
            mcp: speech.mcp.as_ref().map(|mcp| McpNames {
                caller: mcp.caller.as_deref(),
                server: &mcp.server,
                tool: &mcp.tool,
                within: mcp
                    .within
                    .as_ref()
                    .map(|(before, between)| (&**before, &**between)),
            }),
        }),
    };
    Some(Described {
        dialect,
        agent,
        speech,
    })
}

/// What an event of a call has to do with a question that the agent puts to a person at another
/// event of the same call.
pub(super) fn question_turn(name: &str, event: &Event) -> Option<Turn> {
    let it = MAKERS[DESCRIBED.iter().position(|it| *it == name)?]()?;
    let reply = it.reply_at(event)?;
    let tool = event.tool_name()?;
    let leaves = |reply: &Reply| reply.asks_later.iter().any(|it| it == tool);
    match () {
        () if leaves(reply) => Some(Turn::Leaves),
        () if reply.ask.is_some() && it.speech.replies.values().any(leaves) => Some(Turn::Asks),
        () => None,
    }
}

type Pairs = Vec<(&'static str, &'static str)>;

fn borrow_pairs(pairs: &'static [Pair]) -> impl Iterator<Item = (&'static str, &'static str)> {
    pairs.iter().map(|(theirs, ours)| (&**theirs, &**ours))
}

fn make_row(moment: &'static Moment) -> EventRow {
    let also: Vec<&str> = moment.also.iter().map(String::as_str).collect();
    let members: Pairs = borrow_pairs(&moment.members).collect();
    EventRow {
        also: also.leak(),
        near: moment.near.as_deref(),
        blocks: moment.blocks,
        denies_by_exit: moment.denies_by_exit,
        rewrites: moment.rewrites,
        prints_context: moment.prints_context,
        members: members.leak(),
        ..EventRow::new(&moment.name, moment.is.as_deref().unwrap_or(&moment.name))
    }
}

impl Described {
    /// What is said of the event that a row is of.
    fn moment(&self, row: &EventRow) -> Option<&'static Moment> {
        self.speech
            .events
            .iter()
            .find(|moment| moment.name == row.name)
    }

    /// Where the parts of a verdict go in the reply to an event.
    fn reply_at(&self, event: &Event) -> Option<&'static Reply> {
        let moment = self
            .dialect
            .row_of(event)
            .and_then(|row| self.moment(row))?;
        self.speech.replies.get(moment.says.as_deref()?)
    }
}

fn matcher_target<const N: usize>(event: &str) -> Target {
    let moment = made::<N>().and_then(|it| it.moment(it.dialect.row(event)?));
    match moment.and_then(|moment| moment.matcher.as_deref()) {
        Some(place) => Target::Member(place),
        None if spec(event).is_some_and(|spec| spec.tool) => Target::Member(TOOL_NAME),
        None => Target::Nothing,
    }
}

fn complete_event<const N: usize>(payload: &Value, event: &mut Value) -> Result<(), String> {
    let Some(it) = made::<N>() else { return Ok(()) };
    let moment = it
        .dialect
        .identify_event(payload)
        .ok()
        .and_then(|(row, _)| it.moment(row?));
    if let (Some(tool), None) = (
        moment.and_then(|moment| moment.tool.as_deref()),
        event.pointer(TOOL_NAME),
    ) {
        set_pointer(event, TOOL_NAME, tool.into());
    }
    let has_cwd = event
        .get("cwd")
        .and_then(Value::as_str)
        .is_some_and(|cwd| !cwd.is_empty());
    if let Some(cwd) = it
        .speech
        .cwd
        .iter()
        .filter_map(|place| payload.pointer(place))
        .find(|it| it.is_string())
        .filter(|_| !has_cwd)
    {
        set_pointer(event, "/cwd", cwd.clone());
    }
    for place in &it.speech.parts {
        if let Some(text) = event.pointer(place).and_then(texts_of) {
            set_pointer(event, place, text.into());
        }
    }
    for place in &it.speech.texts {
        let Some(text) = event
            .pointer(place)
            .and_then(Value::as_str)
            .filter(|text| is_json(text))
        else {
            continue;
        };
        match parse(text) {
            Ok(value) => set_pointer(event, place, value),
            // Before a call no guard could know what it says.
            Err(error) if place == "/tool/input" => {
                return Err(format!(
                    "the tool's input begins like JSON and can't be read: {error}"
                ));
            }
            Err(_) => {}
        }
    }
    Ok(())
}

/// The texts of a list of parts, each on lines of its own.
fn texts_of(parts: &Value) -> Option<String> {
    let texts = parts
        .as_array()?
        .iter()
        .filter_map(|part| part.get("text")?.as_str());
    Some(texts.collect::<Vec<_>>().join("\n"))
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// The payload as a hook of the agent reads it. Unless something has changed it is the one that
/// came, to the letter.
fn write_payload<const N: usize>(event: &Event) -> Value {
    let Some(it) = made::<N>() else {
        return Value::Null;
    };
    let Some(original) = it.dialect.original_payload(event) else {
        return it.dialect.write_event(event);
    };
    let without_deadline = |event: &Event| {
        let mut data = event.data().clone();
        data.as_object_mut()
            .and_then(|data| data.remove("deadlineMs"));
        data
    };
    let again = it.dialect.read_event(original.clone());
    if again.is_ok_and(|again| without_deadline(&again) == without_deadline(event))
        && event.unknown_gate().is_none()
    {
        return original.clone();
    }
    let mut payload = it.dialect.write_event(event);
    // What came as a text that holds JSON goes on as one.
    let own = it.dialect.row_of(event).map_or(&[][..], |row| row.members);
    for (theirs, ours) in own.iter().chain(it.dialect.members) {
        let was_text = original.pointer(theirs).is_some_and(Value::is_string);
        if let (true, true, Some(value)) = (
            it.speech.texts.iter().any(|text| text == ours),
            was_text,
            payload.pointer(theirs),
        ) && !value.is_string()
        {
            let text = value.to_string();
            set_pointer(&mut payload, theirs, text.into());
        }
    }
    payload
}

/// A verdict without what the agent has no word for.
fn make_stricter(it: &Described, reply: &Reply, event: &Event, verdict: &Verdict) -> Verdict {
    let row = it.dialect.row_of(event);
    let blocks = row.is_some_and(|row| row.blocks);
    let mut verdict = match &verdict.stop {
        Some(_) if reply.stop.is_none() && blocks && !event.spec.rest => stop_denies(verdict),
        _ => verdict.clone(),
    };
    if let Some(after) = verdict
        .subject
        .as_ref()
        .filter(|_| verdict.decision != Decision::Deny)
    {
        let before = event.subject();
        let is_like = before.is_none_or(|before| {
            before.is_null() || std::mem::discriminant(before) == std::mem::discriminant(after)
        });
        let why = if reply.rewrite.is_none() || !row.is_some_and(|row| row.rewrites) || !is_like {
            Some("takes no such rewrite")
        } else if reply.merges && before.is_some_and(|before| removes_members(before, after)) {
            Some("only adds and replaces members")
        } else if verdict.decision != Decision::Allow {
            Some("isn't known to ask about a rewrite")
        } else {
            None
        };
        if let Some(why) = why {
            verdict = match blocks {
                true => denied_verdict(
                    &verdict,
                    &format!("a hook rewrote this, and {} {why}", it.agent.title),
                ),
                false => Verdict {
                    subject: None,
                    ..verdict
                },
            };
        }
    }
    // The agent puts it to a person at a later event of the call.
    if verdict.decision == Decision::Ask
        && question_turn(it.dialect.name(), event) == Some(Turn::Leaves)
    {
        return Verdict {
            decision: Decision::Allow,
            decided_by: None,
            reason: None,
            ..verdict
        };
    }
    let has_word = match verdict.decision {
        Decision::Ask => reply.ask.is_some(),
        Decision::Defer => false,
        Decision::Allow | Decision::Deny => true,
    };
    match has_word {
        true => verdict,
        false => denied_verdict(&verdict, &format!("{} can't ask here", it.agent.title)),
    }
}

fn write_reply<const N: usize>(event: &Event, verdict: &Verdict) -> Value {
    let silence = || Value::Object(Map::new());
    let Some(it) = made::<N>() else {
        return silence();
    };
    if it.speech.replies_as_claude_code {
        return as_claude_code(it, event, verdict);
    }
    let Some(reply) = it.reply_at(event) else {
        return silence();
    };
    let verdict = make_stricter(it, reply, event, verdict);
    let mut said = silence();
    for (place, value) in &reply.silence {
        set_pointer(&mut said, place, value.clone());
    }
    let mut say = |say: &Say, reason: &str| {
        say.set
            .iter()
            .for_each(|(place, value)| set_pointer(&mut said, place, value.clone()));
        say.reason
            .iter()
            .for_each(|place| set_pointer(&mut said, place, reason.into()));
    };
    let reason = verdict.reason.as_deref().unwrap_or_default();
    let blocks = it.dialect.row_of(event).is_some_and(|row| row.blocks);
    match (verdict.decision, &reply.allow, &reply.ask, &reply.deny) {
        (Decision::Allow, Some(allow), ..) if is_decided(&verdict) => say(allow, reason),
        (Decision::Ask, _, Some(ask), _) => say(ask, &text_or(reason, "A hook asks")),
        (Decision::Ask | Decision::Defer | Decision::Deny, _, _, Some(deny)) if blocks => {
            say(deny, &text_or(reason, BLOCKED))
        }
        _ => {}
    }
    if let (Some(stop), Some(end)) = (&verdict.stop, &reply.stop) {
        say(end, &text_or(stop, "Stopped by hook"));
    }
    if let (Some(place), Some(subject)) = (
        &reply.rewrite,
        verdict
            .subject
            .filter(|_| verdict.decision == Decision::Allow),
    ) {
        set_pointer(&mut said, place, subject);
    }
    for (place, texts, is_list) in [
        (
            &reply.context,
            &verdict.additional_context,
            reply.lists_context,
        ),
        (&reply.message, &verdict.user_messages, false),
    ] {
        if let (Some(place), false) = (place, texts.is_empty()) {
            let texts = if is_list {
                texts.clone().into()
            } else {
                texts.join("\n").into()
            };
            set_pointer(&mut said, place, texts);
        }
    }
    if let Some(specific) = said.get_mut("hookSpecificOutput") {
        specific["hookEventName"] = it.dialect.name_of(event).into();
    }
    said
}

/// Claude Code's reply, but for what the agent has no word for.
fn as_claude_code(it: &Described, event: &Event, verdict: &Verdict) -> Value {
    let row = it.dialect.row_of(event);
    if event.unknown_gate().is_none() && row.is_none() {
        return Value::Object(Map::new());
    }
    let mut verdict = verdict.clone();
    if verdict.subject.is_some() && !row.is_some_and(|row| row.rewrites) {
        let blocks = row.is_some_and(|row| row.blocks) && verdict.decision != Decision::Deny;
        verdict = match blocks {
            true => denied_verdict(
                &verdict,
                &format!(
                    "a hook rewrote this, and {} takes no such rewrite",
                    it.agent.title
                ),
            ),
            false => Verdict {
                subject: None,
                ..verdict
            },
        };
    }
    if verdict.decision == Decision::Defer {
        verdict = denied_verdict(
            &verdict,
            &format!("{} can't put a call off", it.agent.title),
        );
    }
    claude_code::write_reply(&it.dialect, event, &verdict)
}

fn read_reply<const N: usize>(event: &Event, value: Value) -> Result<Answer, String> {
    let Some(it) = made::<N>() else {
        return Ok(Answer::default());
    };
    if it.speech.replies_as_claude_code {
        return claude_code::read_reply(&it.dialect, event, value);
    }
    let object = reply_members(&value)?;
    let Some(reply) = it.reply_at(event) else {
        return check_understood(event, &value, &[], Answer::default());
    };
    let mut answer = Answer::default();
    let decisions = [
        (Decision::Deny, &reply.deny),
        (Decision::Ask, &reply.ask),
        (Decision::Allow, &reply.allow),
    ];
    let decisions = || {
        decisions
            .iter()
            .filter_map(|(decision, say)| Some((*decision, say.as_ref()?)))
    };
    let silent = |place: &str, value: &Value| {
        reply
            .silence
            .iter()
            .any(|(it, said)| it == place && said == value)
    };
    let reason_in = |say: &Say| {
        say.reason
            .iter()
            .find_map(|place| value.pointer(place)?.as_str().map(str::to_string))
    };
    for (decision, say) in decisions()
        .filter(|_| answer.decision.is_none())
        .collect::<Vec<_>>()
    {
        // What it says without an opinion too may be left out.
        let is_said = say
            .set
            .iter()
            .all(|(place, said)| match value.pointer(place) {
                Some(value) => value == said,
                None => silent(place, said),
            });
        let is_there = match &say.set[..] {
            [] => reason_in(say).is_some(),
            set => set.iter().any(|(place, _)| value.pointer(place).is_some()),
        };
        if answer.decision.is_none() && is_said && is_there {
            answer.decision = Some(decision);
            answer.reason = reason_in(say);
        }
    }
    let words = || {
        let places = decisions()
            .flat_map(|(_, say)| &say.set)
            .map(|(place, _)| place);
        places.filter_map(|place| Some((place, value.pointer(place)?)))
    };
    if answer.decision.is_none() {
        answer.decision = words().find_map(|(_, word)| {
            reply
                .also
                .iter()
                .find(|(also, _)| word == also)
                .map(|(_, decision)| *decision)
        });
        answer.reason = decisions()
            .next()
            .filter(|_| answer.decision.is_some())
            .and_then(|(_, say)| reason_in(say));
    }
    // A word that means nothing there must not pass for silence.
    if let Some((place, word)) = words()
        .find(|(place, word)| answer.decision.is_none() && !word.is_null() && !silent(place, word))
    {
        return Err(unreadable_reply(format_args!(
            "`{}` is {word}",
            super::describe_pointer(place)
        )));
    }
    if let Some(end) = &reply.stop
        && end
            .set
            .iter()
            .all(|(place, said)| value.pointer(place) == Some(said))
    {
        answer.stop = Some(reason_in(end).unwrap_or_default());
    }
    let change = reply
        .rewrite
        .as_ref()
        .and_then(|place| value.pointer(place))
        .filter(|it| !it.is_null());
    answer.subject = match (change, event.subject()) {
        (Some(Value::Object(change)), Some(Value::Object(before))) if reply.merges => {
            let mut merged = before.clone();
            merged.extend(change.clone());
            Some(Value::Object(merged))
        }
        (change, _) => change.cloned(),
    };
    match reply
        .context
        .as_ref()
        .and_then(|place| value.pointer(place))
    {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => answer.additional_context.push(text.clone()),
        Some(list) => {
            answer.additional_context =
                serde_json::from_value(list.clone()).map_err(unreadable_reply)?
        }
    }
    if let Some(message) = reply
        .message
        .as_deref()
        .and_then(|place| place.strip_prefix('/'))
    {
        answer.user_messages.extend(text_member(object, message)?);
    }
    let ends = reply.stop.iter().flat_map(|end| &end.set);
    let read: Vec<&str> = decisions()
        .flat_map(|(_, say)| &say.set)
        .chain(ends)
        .map(|(place, _)| &**place)
        .collect();
    check_understood(event, &value, &read, answer)
}

fn read_exit<const N: usize>(event: &Event, exit: &Exit<'_>) -> Result<Answer, String> {
    let stdout = exit.stdout.trim();
    let reply = stdout
        .starts_with('{')
        .then(|| read_reply::<N>(event, parse_stdout(stdout)?));
    let Some(it) = made::<N>() else {
        return Ok(Answer::default());
    };
    match exit.code {
        Some(0) => reply.unwrap_or_else(|| {
            let prints = it
                .dialect
                .row_of(event)
                .is_some_and(|row| row.prints_context)
                && !stdout.is_empty();
            let additional_context = prints.then(|| stdout.to_string()).into_iter().collect();
            Ok(Answer {
                additional_context,
                remarks: describe_unread(event, stdout),
                ..Answer::default()
            })
        }),
        Some(2) => {
            let reason =
                reason_of_deny(reply).unwrap_or_else(|| text_or(exit.stderr.trim(), BLOCKED));
            Ok(block_event(&it.dialect, event, reason))
        }
        Some(_) | None => Err(bad_exit(exit)),
    }
}
