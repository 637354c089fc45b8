//! Logins by a key, on real servers: by an NKEY that the server lists, and by a token that an
//! operator has signed.

use crate::common::{LONG, Servers, program, until};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use hookwire_fleet::server::{Link, Server, ServerError, Settings};
use hookwire_fleet::streams::{self, Made, Plan};
use nkeys::KeyPair;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A server that lets in who has this key.
fn for_key(key: &KeyPair) -> impl FnOnce(&str, &Path) -> String {
    let public = key.public_key();
    move |address, store| {
        format!(
            "listen: {address:?}\njetstream {{ store_dir: {store:?} }}\n\
             accounts {{ HOOKWIRE {{ jetstream: enabled, users: [{{ nkey: {public} }}] }} }}\n"
        )
    }
}

fn by_key(servers: &Servers, file: PathBuf) -> Settings {
    Settings {
        servers: vec![servers.url()],
        nkey_file: Some(file),
        ..Settings::default()
    }
}

/// The account may do something: streams are made.
async fn makes_streams(server: &Server) {
    let made = until(async || {
        streams::init_streams(server, &Plan::default(), false)
            .await
            .ok()
    })
    .await;
    assert!(
        made.iter()
            .all(|(_, made)| matches!(made, Made::New | Made::Same)),
        "{made:?}"
    );
}

async fn is_refused(settings: &Settings) {
    let error = Server::connect(settings, LONG).await.unwrap_err();
    assert!(
        matches!(&error, ServerError::Away { reason, .. } if reason.contains("let this user in")),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_the_server_lists_is_let_in() {
    let Some(program) = program() else { return };
    let (key, other) = (KeyPair::new_user(), KeyPair::new_user());
    let mut servers = Servers::with_config(&program, for_key(&key));
    let file = servers.write_secret("host.nk", &format!("{}\n", key.seed().unwrap()));
    let settings = by_key(&servers, file);
    let server = Server::connect(&settings, LONG).await.unwrap();
    makes_streams(&server).await;
    let another = servers.write_secret("other.nk", &other.seed().unwrap());
    is_refused(&by_key(&servers, another)).await;
    is_refused(&Settings {
        nkey_file: None,
        ..settings.clone()
    })
    .await;

    // The key is replaced, and the host that runs already reads it at the next connection.
    let Link::Up(first) = *server.link().borrow() else {
        panic!("it isn't connected")
    };
    servers.write_secret("host.nk", &other.seed().unwrap());
    servers.kill(0);
    servers.configure(for_key(&other));
    servers.restart(0);
    server
        .link()
        .wait_for(|it| matches!(it, Link::Up(again) if *again != first))
        .await
        .unwrap();
    makes_streams(&server).await;
    is_refused(&by_key(
        &servers,
        servers.write_secret("old.nk", &key.seed().unwrap()),
    ))
    .await;
}

/// A token about a key, signed by another one.
fn token(by: &KeyPair, about: &KeyPair, nats: &Value) -> String {
    let part = |value: &Value| BASE64.encode(value.to_string());
    let header = json!({ "typ": "JWT", "alg": "ed25519-nkey" });
    let claims = json!({ "jti": "test", "iat": 1_700_000_000, "iss": by.public_key(), "sub": about.public_key(),
        "name": "test", "nats": nats });
    let signed = format!("{}.{}", part(&header), part(&claims));
    let signature = by.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", BASE64.encode(signature))
}

/// A `.creds` file as `nsc generate creds` writes it.
fn creds(token: &str, seed: &str) -> String {
    format!(
        "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
         ************************* IMPORTANT *************************\n\
         NKEY Seed printed below can be used to sign and prove identity.\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_an_operator_has_signed_is_let_in() {
    let Some(program) = program() else { return };
    let (operator, system, account) = (
        KeyPair::new_operator(),
        KeyPair::new_account(),
        KeyPair::new_account(),
    );
    let (user, another) = (KeyPair::new_user(), KeyPair::new_account());
    let of_operator = token(
        &operator,
        &operator,
        &json!({ "type": "operator", "version": 2 }),
    );
    let limits = json!({ "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1 });
    let of_account = |key: &KeyPair, limits: &Value| {
        token(
            &operator,
            key,
            &json!({ "type": "account", "version": 2, "limits": limits }),
        )
    };
    let mut of_system = limits.clone();
    for storage in ["mem_storage", "disk_storage", "streams", "consumer"] {
        of_system[storage] = 0.into();
    }
    let preload = format!(
        "resolver_preload: {{ {}: {}, {}: {} }}",
        system.public_key(),
        of_account(&system, &of_system),
        account.public_key(),
        of_account(&account, &limits)
    );
    let servers = Servers::with_config(&program, |address, store| {
        format!(
            "listen: {address:?}\njetstream {{ store_dir: {store:?} }}\noperator: {of_operator}\n\
             system_account: {}\nresolver: MEMORY\n{preload}\n",
            system.public_key()
        )
    });
    let about_user = json!({ "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1 });
    let settings = |name: &str, token: &str, key: &KeyPair| Settings {
        servers: vec![servers.url()],
        credentials: Some(servers.write_secret(name, &creds(token, &key.seed().unwrap()))),
        ..Settings::default()
    };
    let of_user = token(&account, &user, &about_user);
    let server = Server::connect(&settings("host.creds", &of_user, &user), LONG)
        .await
        .unwrap();
    makes_streams(&server).await;
    // The token with another key, and one that an account has signed which the operator doesn't
    // know.
    is_refused(&settings("stolen.creds", &of_user, &KeyPair::new_user())).await;
    is_refused(&settings(
        "forged.creds",
        &token(&another, &user, &about_user),
        &user,
    ))
    .await;
}
