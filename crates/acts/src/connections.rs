//! Which hosts a text would connect to, as the table of [programs](super::programs) says.

use super::judge::exports;
use super::names::base_name;
use super::programs::{self, To};
use super::word::Openness;
use super::{Doubt, Script, Span};
use compact_str::CompactString;
use std::cell::OnceCell;

/// So many connections of one text are told apart.
const MOST: usize = 256;

/// A connection that a text would make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Where to.
    pub to: To,
    /// Where in the text, in bytes.
    pub at: Span,
    /// Which of the text's commands makes it; nothing for a redirection and for what isn't read.
    pub by: Option<usize>,
    /// Why it is in doubt whether it is made.
    pub doubt: Option<&'static str>,
}

/// So many words of a command that may be another one's are looked at.
const MOST_WORDS: usize = 64;
/// So much of code is looked through.
const MOST_CODE: usize = 64 << 10;
const BY_CODE: &str = "code that runs names this host";
const BY_ANOTHER: &str = "a program that isn't known may run it";

impl Script {
    /// The hosts that the text would connect to. Programs of which nothing is known aren't among
    /// them: they may connect to any.
    pub fn connections(&self) -> &[Connection] {
        self.connections.0.get_or_init(|| self.find_connections())
    }

    fn find_connections(&self) -> Vec<Connection> {
        let mut all: Vec<Connection> = Vec::new();
        for redirected in &self.redirected {
            let device = ["/dev/tcp/", "/dev/udp/"]
                .iter()
                .find_map(|device| redirected.word.beginning().strip_prefix(device));
            let Some(rest) = device else { continue };
            let is_all = redirected.word.openness == Openness::Constant;
            all.push(Connection {
                doubt: None,
                to: match rest.split_once('/') {
                    Some((host, port)) if is_all && port.parse::<u16>().is_ok() => {
                        To::Host(format!("{host}:{port}"))
                    }
                    Some((host, _)) => To::Host(host.to_string()),
                    None if is_all => To::Host(rest.to_string()),
                    None => To::Unclear("the host that it connects to is computed"),
                },
                at: redirected.at.clone(),
                by: None,
            });
        }
        let mut exported: Vec<To> = Vec::new();
        for (n, command) in self.commands.iter().enumerate() {
            if exports(command) && exported.len() < MOST {
                let set = command.words.iter().skip(1);
                exported.extend(set.filter_map(programs::connects_by_setting));
            }
            let mut found = programs::connects(&command.words);
            let is_told = found.is_some();
            if let Some(found) = &mut found {
                let own = command.settings.iter().flat_map(|it| it.iter());
                found.extend(exported.iter().cloned());
                found.extend(own.filter_map(programs::connects_by_setting));
                // Set by itself, it may be exported by who started the shell.
                let is_place = |name: &CompactString| programs::connects_by_variable(name);
                if self.assigned.iter().any(is_place) {
                    found.push(To::Unclear(
                        "a variable that the text sets says where it connects",
                    ));
                }
            }
            let is_new = |to: &To| all.iter().all(|it| it.to != *to || it.by != Some(n));
            let mut new: Vec<To> = Vec::new();
            for to in found.into_iter().flatten().filter(is_new) {
                if !new.contains(&to) && new.len() <= MOST {
                    new.push(to);
                }
            }
            let certain = new.into_iter().map(|to| (to, None));
            let made = certain.chain(self.perhaps_made(n, is_told));
            all.extend(made.map(|(to, doubt)| Connection {
                to,
                at: command.span.clone(),
                by: Some(n),
                doubt,
            }));
            if all.len() > MOST {
                all.truncate(MOST);
                all.push(Connection {
                    to: To::Unclear("it connects to too many hosts"),
                    at: command.span.clone(),
                    by: Some(n),
                    doubt: None,
                });
                break;
            }
        }
        let texts = self.texts.iter().filter(|_| self.runs_constants);
        for (text, at) in texts.take(MOST_WORDS) {
            for to in hosts_in_code(text) {
                // A command may say the same for certain.
                if all.iter().all(|it| it.to != to) {
                    all.push(Connection {
                        to,
                        at: at.clone(),
                        by: None,
                        doubt: Some(BY_CODE),
                    });
                }
            }
        }
        // What isn't read, or is computed for a shell, may connect to any.
        let mut unread = [&self.refused, &self.computed].into_iter().flatten();
        if let Some(Doubt { why, at }) = unread.next().or(self.gaps.first()) {
            all.push(Connection {
                to: To::Unclear(why),
                at: at.clone(),
                by: None,
                doubt: None,
            });
        }
        all
    }

    /// What a command may connect to without saying so: by the words of another command that it is
    /// given, or by code.
    fn perhaps_made(&self, n: usize, is_told: bool) -> Vec<(To, Option<&'static str>)> {
        let mut made = Vec::new();
        let Some(command) = self.commands.get(n).filter(|it| !it.data && !it.shell_text) else {
            return made;
        };
        let words = &command.words;
        if !is_told && programs::may_be_alias_of_git(words) {
            made.push((To::Unclear("an alias of git may connect"), None));
        }
        // What it runs is listed itself.
        let mut later = self.commands[n + 1..].iter().take(MOST_WORDS);
        if is_told || later.any(|it| !it.words.is_empty() && words.ends_with(&it.words)) {
            return made;
        }
        if command.runs_words {
            for at in 1..words.len().min(MOST_WORDS) {
                let name = base_name(words[at].as_constant().unwrap_or_default());
                if programs::connect(name) {
                    let found = programs::connects(&words[at..]).into_iter().flatten();
                    made.extend(found.map(|to| (to, Some(BY_ANOTHER))));
                    break;
                }
            }
        }
        let kept = OnceCell::new();
        let is_kept = |at: usize| {
            let kept = kept.get_or_init(|| programs::kept(words));
            kept.get(at) == Some(&true)
        };
        let name = words.first().map_or("", |word| base_name(&word.text));
        let runs = programs::known(name).runs();
        let is_unknown = !["data", "files", "own", "rest"]
            .iter()
            .any(|it| runs.has(it))
            && name != "git";
        for (at, word) in words.iter().enumerate().skip(1).take(MOST_WORDS) {
            let text = word.beginning();
            let is_code = text.contains(|c: char| c.is_whitespace() || "\"'(!".contains(c));
            if is_code && (self.runs_constants || is_unknown) && !is_kept(at) {
                made.extend(hosts_in_code(text).map(|to| (to, Some(BY_CODE))));
            } else if text.contains("://") && is_unknown && !is_kept(at) {
                let url = text.split_once('=').map_or(text, |(_, value)| value);
                let url = if url.contains("://") { url } else { text };
                made.extend(hosts_in_code(url).map(|to| (to, None)));
            }
        }
        made
    }
}

/// The hosts that code names: in URLs, and behind the name of a program that connects.
fn hosts_in_code(code: &str) -> impl Iterator<Item = To> {
    let mut end = code.len().min(MOST_CODE);
    while !code.is_char_boundary(end) {
        end -= 1;
    }
    let is_part = |c: char| c.is_alphanumeric() || ".-_:/@%[]".contains(c);
    let mut is_program = false;
    code[..end]
        .split(move |c| !is_part(c))
        .filter(|part| !part.is_empty())
        .filter_map(move |part| {
            let is_url = part.find("://").is_some_and(|at| {
                let scheme = &part[..at];
                let is_web = ["http", "https", "ftp", "ssh", "git", "ws", "wss", "tcp"];
                is_web.contains(&scheme.rsplit(['+', ':']).next().unwrap_or_default())
            });
            let names_host = is_program && part.contains('.') && !part.starts_with(['-', '.', '/']);
            is_program |= programs::connect(base_name(part));
            (is_url || names_host).then(|| To::Url(part.trim_end_matches(['.', ':']).to_string()))
        })
        .take(MOST_WORDS)
        .collect::<Vec<_>>()
        .into_iter()
}
