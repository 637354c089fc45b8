//! `state/*`: the values that hooks share.
//!
//! Changes are made while the message is read, so that they take effect in order; the reply waits
//! until they are saved.

use crate::rpc::error::RpcResult;
use crate::rpc::protocol::{
    StateCompareAndSet, StateDeleted, StateIncrement, StateItems, StateKey, StateList,
    StateOccasion, StateSet, StateValue,
};
use crate::rpc::session::Session;
use hookwire_handlers::services::state::{Occasion, Scope};
use serde_json::Value;
use std::time::Duration;

/// Values in one reply to `state/list`, unless the request says how many.
const DEFAULT_LIST_LIMIT: usize = 1000;

pub(super) fn get(
    session: &Session,
    StateKey {
        key,
        session: owner,
    }: StateKey,
) -> RpcResult<StateValue> {
    Ok(StateValue {
        value: session.state().get(&Scope::of(owner.as_deref()), &key),
        set: None,
    })
}

pub(super) async fn set(session: &Session, params: StateSet) -> RpcResult<()> {
    let StateSet {
        key,
        session: owner,
        value,
        ttl_ms,
    } = params;
    session
        .state()
        .set(&Scope::of(owner.as_deref()), &key, value, parse_ttl(ttl_ms))?;
    Ok(session.state().saved().await?)
}

pub(super) async fn increment(session: &Session, params: StateIncrement) -> RpcResult<StateValue> {
    let StateIncrement {
        key,
        session: owner,
        by,
        ttl_ms,
        occasion,
    } = params;
    let (by, scope, ttl) = (
        by.unwrap_or(1.into()),
        Scope::of(owner.as_deref()),
        parse_ttl(ttl_ms),
    );
    let sum = match occasion {
        Some(StateOccasion { event, hook, run }) => {
            let occasion = Occasion {
                event: event.into(),
                hook: hook.into(),
                run: run.into(),
            };
            session
                .state()
                .increment_once(&scope, &key, &by, ttl, &occasion)?
        }
        None => session.state().increment(&scope, &key, &by, ttl)?,
    };
    session.state().saved().await?;
    Ok(StateValue {
        value: Some(Value::Number(sum)),
        set: None,
    })
}

pub(super) async fn compare_and_set(
    session: &Session,
    params: StateCompareAndSet,
) -> RpcResult<StateValue> {
    let StateCompareAndSet {
        key,
        session: owner,
        expected,
        value,
        ttl_ms,
    } = params;
    let scope = Scope::of(owner.as_deref());
    let (set, present) = session.state().compare_and_set(
        &scope,
        &key,
        expected.as_ref(),
        value,
        parse_ttl(ttl_ms),
    )?;
    session.state().saved().await?;
    Ok(StateValue {
        value: present,
        set: Some(set),
    })
}

pub(super) async fn delete(
    session: &Session,
    StateKey {
        key,
        session: owner,
    }: StateKey,
) -> RpcResult<StateDeleted> {
    let deleted = session.state().delete(&Scope::of(owner.as_deref()), &key);
    session.state().saved().await?;
    Ok(StateDeleted { deleted })
}

pub(super) fn list(session: &Session, params: StateList) -> RpcResult<StateItems> {
    let StateList {
        session: owner,
        prefix,
        limit,
    } = params;
    let limit = limit.unwrap_or(DEFAULT_LIST_LIMIT);
    Ok(StateItems {
        items: session
            .state()
            .list(&Scope::of(owner.as_deref()), &prefix, limit),
    })
}

fn parse_ttl(ttl_ms: Option<u64>) -> Option<Duration> {
    ttl_ms.map(Duration::from_millis)
}
