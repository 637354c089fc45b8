//! `hookwire doctor --versions`: whether the program, the client that started it and the hosts that
//! run understand each other.

use super::super::output::{Output, Tone, safe};
use super::super::{Failure, Finding};
use crate::rpc::protocol::PROTOCOL_VERSION;
use hookwire_engine::running;
use serde_json::json;

/// The variable in which `python -m hookwire` and `npx hookwire` name their language, version and
/// version of the protocol.
const CLIENT: &str = "HOOKWIRE_CLIENT";

/// Something that speaks the protocol.
struct Speaker {
    what: &'static str,
    version: String,
    /// Of the protocol; `None` if it doesn't say.
    protocol: Option<u64>,
    place: String,
}

pub(super) fn compare_versions(out: &mut Output) -> Result<Finding, Failure> {
    let place = std::env::current_exe()?.to_string_lossy().into_owned();
    let (version, protocol) = (
        env!("CARGO_PKG_VERSION").to_string(),
        Some(u64::from(PROTOCOL_VERSION)),
    );
    let mut speakers = vec![Speaker {
        what: "program",
        version,
        protocol,
        place,
    }];
    speakers.extend(client_speaker(&std::env::var(CLIENT).unwrap_or_default()));
    for mut host in running::find(None)? {
        let place = host.socket.to_string_lossy().into_owned();
        speakers.push(match host.about() {
            Ok(host) => Speaker {
                what: "host",
                version: host.version,
                protocol: host.protocol,
                place: host.root,
            },
            Err(_) => Speaker {
                what: "host",
                version: "?".into(),
                protocol: None,
                place,
            },
        });
    }
    for speaker in &speakers {
        print_speaker(speaker, out);
    }
    let all_fit = speakers.iter().all(Speaker::fits);
    Ok(if all_fit {
        Finding::Fine
    } else {
        Finding::Found
    })
}

fn client_speaker(said: &str) -> Option<Speaker> {
    let mut words = said.split(' ').map(str::to_string);
    let (place, version, protocol) = (words.next()?, words.next()?, words.next()?);
    Some(Speaker {
        what: "client",
        version,
        protocol: protocol.parse().ok(),
        place,
    })
}

impl Speaker {
    fn fits(&self) -> bool {
        self.protocol == Some(u64::from(PROTOCOL_VERSION))
    }

    /// A sentence for people if the versions differ.
    fn advice(&self) -> &'static str {
        match (self.what, self.fits()) {
            (_, true) if self.version == env!("CARGO_PKG_VERSION") => "",
            (_, true) => "another version of the same protocol: they understand each other",
            ("client", false) => {
                "it will refuse this program: install both from one release, and look whether HOOKWIRE names an old program"
            }
            (_, false) if self.protocol.is_none() => {
                "it doesn't say which protocol it speaks: restart it"
            }
            (_, false) => "clients of this program will refuse it: restart it",
        }
    }
}

fn print_speaker(speaker: &Speaker, out: &mut Output) {
    let Speaker {
        what,
        version,
        protocol,
        place,
    } = speaker;
    if out.json {
        return out.json(&json!({
            "what": what, "version": version, "protocol": protocol, "place": place, "fits": speaker.fits(),
        }));
    }
    let protocol = protocol.map_or_else(|| "?".into(), |protocol| protocol.to_string());
    let line = format!(
        "{what:<8} {:<8} protocol {protocol:<3} {}",
        safe(version),
        safe(place)
    );
    out.line(&line);
    if !speaker.advice().is_empty() {
        let tone = if speaker.fits() { Tone::Dim } else { Tone::Bad };
        let advice = out.tone(tone, speaker.advice());
        out.line(&format!("         {advice}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_fits_if_it_speaks_the_same_protocol() {
        for (said, expected) in [
            ("Python 0.1.0 1", Some((true, ""))),
            (
                "Python 9.9.9 1",
                Some((true, "another version of the same protocol")),
            ),
            (
                "Node 0.1.0 99",
                Some((false, "it will refuse this program")),
            ),
            ("Node 0.1.0 x", Some((false, "it will refuse this program"))),
            ("", None),
        ] {
            let found = client_speaker(said);
            let found = found.as_ref().map(|it| (it.fits(), it.advice()));
            let as_expected = match (found, expected) {
                (Some((fits, advice)), Some((should, part))) => {
                    fits == should
                        && advice.is_empty() == part.is_empty()
                        && advice.starts_with(part)
                }
                (found, expected) => found == expected,
            };
            assert!(as_expected, "{said}: {found:?}");
        }
    }
}
