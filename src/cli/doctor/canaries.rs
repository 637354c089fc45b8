//! The cases that are to be denied, tried by the hooks in force here, as a host tries them.

use super::{Health, Report};
use crate::cli::Failure;
use crate::cli::ending::make_runtime;
use hookwire_base::support::amounts::number_of;
use hookwire_engine::canaries::Canaries;
use hookwire_engine::host::Host;

/// So many cases that are denied no more are named.
const MAX_TOLD: usize = 5;

/// Tries the cases beside the definitions that count here, and says which are denied no more.
pub(super) fn check_canaries(host: &Host, report: &mut Report<'_>) -> Result<(), Failure> {
    let runtime = make_runtime()?;
    let Canaries {
        denied,
        not_tried,
        not_denied,
        failed,
    } = runtime.block_on(host.try_cases()).canaries;
    runtime.shutdown_background();
    if denied + not_tried + not_denied == 0 {
        return Ok(());
    }
    report.begin_section("cases that are to be denied");
    let told = failed.iter().take(MAX_TOLD);
    for case in told.clone() {
        report.say_health(Health::Bad, &case.describe());
    }
    let n_more = not_denied - told.count();
    if n_more > 0 {
        let more = number_of(n_more, "case");
        report.say_health(
            Health::Bad,
            &format!("{more} more are to be denied, and aren't"),
        );
    }
    report.say_health(
        Health::Fine,
        &format!("{} denied", number_of(denied, "case")),
    );
    if not_tried > 0 {
        let why = "they take place elsewhere, or only hooks that do something judge them: `hookwire test` tries them";
        report.say_health(
            Health::Fine,
            &format!("{} not tried: {why}", number_of(not_tried, "case")),
        );
    }
    Ok(())
}
