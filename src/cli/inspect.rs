//! `hookwire inspect`: the page on which a person watches agents, in a browser.

use super::ending;
use super::output::{Output, say_on_stderr};
use super::{Failure, Finding};
use crate::http::Listener;
use crate::inspector::{Inspector, Links, Source};
use serde_json::json;
use std::io::{BufRead, IsTerminal};
use std::process::{Command, Stdio};

#[derive(clap::Args)]
pub(super) struct InspectArgs {
    /// The port of 127.0.0.1 to listen on; 0 is any that is free.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Don't open the browser, only print the link.
    #[arg(long)]
    no_open: bool,
    #[cfg(feature = "fleet")]
    #[command(flatten)]
    page: super::fleet::page::PageArgs,
}

impl InspectArgs {
    /// What the page is to show, once there is a runtime.
    #[cfg(feature = "fleet")]
    fn source(&self) -> Result<impl FnOnce() -> Result<Source, Failure> + use<>, Failure> {
        self.page.open_source()
    }

    #[cfg(not(feature = "fleet"))]
    fn source(&self) -> Result<impl FnOnce() -> Result<Source, Failure> + use<>, Failure> {
        Ok(|| Ok(Source::Here))
    }
}

/// What opens a link in the person's browser.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

pub(super) fn run(args: &InspectArgs, out: &mut Output) -> Result<Finding, Failure> {
    let source = args.source()?;
    ending::run_to_end(async move |runtime| {
        let address = format!("http://127.0.0.1:{}", args.port)
            .parse()
            .map_err(Failure)?;
        let listener = Listener::bind(address).await;
        let listener =
            listener.map_err(|error| Failure(format!("--port {}: {error}", args.port)))?;
        let (service, links) = Inspector::start(
            listener.address().port(),
            runtime.handle().clone(),
            source()?,
        )?;
        let _guests = listener.serve(service);
        let link = links.make_link()?;
        if out.json {
            out.json(&json!({ "url": link }));
        } else {
            out.line(&link);
            say_on_stderr("the link counts once, for a minute; Ctrl-C ends the page");
        }
        if !args.no_open {
            open_link(&link);
        }
        if std::io::stdin().is_terminal() {
            say_on_stderr("Enter makes a new link");
            std::thread::Builder::new()
                .name("links".into())
                .spawn(move || make_more(&links))?;
        }
        std::future::pending().await
    })
}

/// Opens a link. Whoever can't have it opened has it on the screen.
fn open_link(link: &str) {
    let mut opener = Command::new(OPENER);
    let spawned = opener
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match spawned {
        // Nobody waits for it, but it is to leave no zombie.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => say_on_stderr(format_args!("{OPENER}: {error}; open the link yourself")),
    }
}

/// Tells a new link for each line that comes.
fn make_more(links: &Links) {
    for _ in std::io::stdin().lock().lines().map_while(Result::ok) {
        match links.make_link() {
            Ok(link) => super::output::tell_plainly(link),
            Err(error) => say_on_stderr(error),
        }
    }
}
