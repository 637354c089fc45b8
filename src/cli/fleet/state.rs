//! `hookwire state --fleet`: the values that hooks of all hosts of a fleet share.

use super::super::output::Output;
use super::super::state::{StateAction, StateArgs, json_or_text, print_value};
use super::super::{Failure, Finding};
use super::{ServerArgs, WAIT};
use hookwire_fleet::name::Name;
use hookwire_fleet::state::{Change, get, update_value};
use hookwire_handlers::services::state::add;
use serde_json::Value;

pub(in crate::cli) fn run(args: &StateArgs, out: &mut Output) -> Result<Finding, Failure> {
    super::super::ending::run_to_end(async |_| {
        let (server, _) = ServerArgs {
            fleet: args.fleet.clone(),
        }
        .connect()
        .await?;
        let name = |key: &str| {
            key.parse::<Name>()
                .map_err(|error| Failure(format!("the key: {error}")))
        };
        let found = |found| if found { Finding::Fine } else { Finding::Found };
        Ok(match &args.action {
            StateAction::Get { key } => {
                let value = get(&server, &name(key)?, WAIT).await?;
                value.iter().for_each(|value| print_value(out, value));
                found(value.is_some())
            }
            StateAction::Set { key, value, ttl } => {
                let value = json_or_text(value);
                update_value(&server, &name(key)?, WAIT, |_| {
                    Ok(Change::Set(value.clone(), *ttl))
                })
                .await?;
                Finding::Fine
            }
            StateAction::Increment { key, by, ttl } => {
                let mut sum = Value::Null;
                update_value(&server, &name(key)?, WAIT, |present| {
                    let counted = match present {
                        None => by.clone(),
                        Some(Value::Number(number)) => add(number, by).ok_or_else(|| {
                            format!("the sum of {number} and {by} doesn't fit into 64 bits")
                        })?,
                        Some(_) => return Err(format!("the value of `{key}` is not a number")),
                    };
                    sum = Value::Number(counted);
                    Ok(Change::Count(sum.clone(), *ttl))
                })
                .await?;
                print_value(out, &sum);
                Finding::Fine
            }
            StateAction::CompareAndSet {
                key,
                value,
                expected,
                ttl,
            } => {
                let (value, expected) =
                    (json_or_text(value), expected.as_deref().map(json_or_text));
                let mut is_set = false;
                update_value(&server, &name(key)?, WAIT, |present| {
                    is_set = present == expected.as_ref();
                    Ok(if is_set {
                        Change::Set(value.clone(), *ttl)
                    } else {
                        Change::None
                    })
                })
                .await?;
                found(is_set)
            }
            StateAction::Delete { key } => {
                let mut was_there = false;
                update_value(&server, &name(key)?, WAIT, |present| {
                    was_there = present.is_some();
                    Ok(Change::Remove)
                })
                .await?;
                found(was_there)
            }
            StateAction::List { .. } => {
                return Err(Failure(
                    "the keys of a fleet aren't listed: a host's account may read those that it names".into(),
                ));
            }
        })
    })
}
