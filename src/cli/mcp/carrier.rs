//! Carries messages between the ends and the gateway, which decides.
//!
//! One lock holds all of it, so what is sent is sent in the order in which it was decided. Nothing
//! waits under the lock but the first connection to the host: each end has an outbox of its own.

use super::super::output::say_on_stderr;
use super::host_link::{FromHost, HostLink, Way};
use super::pins_file::PinsFile;
use hookwire_base::transport::outbox::Outbox;
use hookwire_gateway::lines::{Line, Lines};
use hookwire_gateway::pins::Pins;
use hookwire_gateway::{Ends, Gateway, Settings, Side};
use parking_lot::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde_json::Value;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

const READ_SIZE: usize = 64 * 1024;

/// See the module.
pub(super) struct Carrier {
    state: Mutex<State>,
    changed: Condvar,
    client: Outbox,
    server: Outbox,
}

struct State {
    gateway: Gateway,
    wires: Wires,
}

/// What the gateway speaks through.
pub(super) struct Wires {
    client: Outbox,
    server: Outbox,
    pub(super) host: HostLink,
    pins: PinsFile,
}

impl Carrier {
    pub(super) fn new(
        settings: Settings,
        client: Outbox,
        server: Outbox,
        way: Way,
        pins: PinsFile,
    ) -> Arc<Carrier> {
        let limit = settings.time_limit;
        Arc::new_cyclic(|this: &Weak<Carrier>| {
            let this = this.clone();
            let heard = Arc::new(move |number, said| {
                let carrier = this.upgrade();
                carrier.is_some_and(|carrier| carrier.hear(number, said))
            });
            let wires = Wires {
                client: client.clone(),
                server: server.clone(),
                host: HostLink::new(way, limit, heard),
                pins,
            };
            let gateway = Gateway::new(settings);
            Carrier {
                state: Mutex::new(State { gateway, wires }),
                changed: Condvar::new(),
                client,
                server,
            }
        })
    }

    /// Connects to the host, so that the first event doesn't wait for it.
    pub(super) fn connect(&self) {
        self.with(|_, wires| {
            if let Err(problem) = wires.host.connect() {
                say_on_stderr(problem);
            }
        });
    }

    /// Works with the gateway. Events that couldn't be asked about are failures when this returns.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Gateway, &mut Wires) -> T) -> T {
        let mut state = self.state.lock();
        let State { gateway, wires } = &mut *state;
        let done = work(gateway, wires);
        while let Some((ticket, problem)) = wires.host.next_unasked() {
            gateway.judged(ticket, Err(problem), wires);
        }
        drop(state);
        self.changed.notify_all();
        done
    }

    /// Takes what a host says on a connection; whether more of that is wanted.
    fn hear(&self, number: u64, said: FromHost) -> bool {
        self.with(|gateway, wires| {
            let is_present = wires.host.is_at(number);
            match said {
                _ if !is_present => {}
                FromHost::Message(message) => take_message(gateway, wires, message),
                FromHost::Silence => {
                    for ticket in wires.host.take_overdue() {
                        gateway.judged(ticket, Err("no answer in time".into()), wires);
                    }
                }
                FromHost::Lost(problem) => wires.host.lose(&problem),
            }
            is_present
        })
    }

    /// Carries what an end sends, until it sends no more. While the other end doesn't take what
    /// waits for it, nothing is read.
    pub(super) fn carry(&self, side: Side, input: BorrowedFd<'_>, max_message: usize) {
        let (mut lines, mut bytes) = (Lines::new(max_message), vec![0; READ_SIZE]);
        let other = match side {
            Side::Client => &self.server,
            Side::Server => &self.client,
        };
        let take = |line| {
            self.with(|gateway, wires| match line {
                Line::Whole(line) => gateway.receive(side, &line, wires),
                Line::TooLong(bad) => gateway.refuse(side, &bad, wires),
            });
        };
        loop {
            other.wait_for_room(|| false, Duration::ZERO);
            match rustix::io::read(input, &mut bytes) {
                Ok(0) => break,
                Ok(read) => lines.push(bytes.get(..read).unwrap_or_default(), take),
                Err(Errno::INTR) => {}
                // A process that shares the descriptor has made it non-blocking.
                Err(Errno::AGAIN) => {
                    let _ = poll(&mut [PollFd::new(&input, PollFlags::IN)], None);
                }
                Err(_) => break,
            }
        }
        lines.finish(take);
    }

    /// Waits until the gateway is so, but no longer than this.
    pub(super) fn wait_until(&self, limit: Duration, is_so: impl Fn(&Gateway) -> bool) {
        let until = Instant::now() + limit;
        let mut state = self.state.lock();
        while !is_so(&state.gateway) {
            if self.changed.wait_until(&mut state, until).timed_out() {
                return;
            }
        }
    }

    /// Waits until the client has what was sent to it.
    pub(super) fn flush(&self, limit: Duration) {
        self.client.flush(limit);
    }
}

fn take_message(gateway: &mut Gateway, wires: &mut Wires, mut message: Value) {
    let id = message["id"].take();
    match message["method"].as_str() {
        Some("approval/request") => gateway.question(id, &message["params"], wires),
        Some("$/cancelRequest") => gateway.question_withdrawn(&message["params"]["id"], wires),
        Some("hooks/invoke") => {
            let tool = message.pointer("/params/event/tool/name");
            let opinion = gateway.pin_opinion(tool.and_then(Value::as_str).unwrap_or_default());
            wires.answer(&id, Ok(opinion));
        }
        Some("hooks/changed") => gateway.definitions_changed(wires),
        Some(_) if !id.is_null() => wires.answer(&id, Err("there is no such method here".into())),
        Some(_) => {}
        None => {
            let Some(ticket) = wires.host.take_waiting(&id) else {
                return;
            };
            let verdict = match message["error"]["message"].as_str() {
                Some(problem) => Err(problem.to_string()),
                None => Ok(message["result"].take()),
            };
            gateway.judged(ticket, verdict, wires);
        }
    }
}

impl Ends for Wires {
    fn send(&mut self, to: Side, message: &str) {
        let line = [message.as_bytes(), b"\n"].concat();
        match to {
            Side::Client => self.client.send_framed(&line),
            Side::Server => self.server.send_framed(&line),
        }
    }

    fn ask(&mut self, ticket: u64, event: &str) {
        self.host.ask(ticket, event);
    }

    fn ask_callable(&mut self, ticket: u64, agent: &str, tools: &[String]) {
        self.host.ask_callable(ticket, agent, tools);
    }

    fn note(&mut self, event: &str) {
        self.host.note(event);
    }

    fn ask_before_calls(&mut self, server: &str) {
        self.host.ask_before_calls(server);
    }

    fn keep(&mut self, pins: &Pins) {
        if let Err(problem) = self.pins.save(pins) {
            say_on_stderr(format_args!("what is pinned can't be kept: {problem}"));
        }
    }

    fn withdraw(&mut self, ticket: u64) {
        self.host.withdraw(ticket);
    }

    fn meet(&mut self, name: &str, elicits: bool) {
        self.host.meet(name, elicits);
    }

    fn answer(&mut self, question: &Value, answer: Result<Value, String>) {
        self.host.answer(question, answer);
    }

    fn tell(&mut self, text: &str) {
        say_on_stderr(text);
    }
}
