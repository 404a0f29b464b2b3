//! A run that lists what it would read, and writes nothing.

use super::pass::Pass;
use super::policy::Policy;
use super::{Options, Run, Silent, Summary, plan, report};
use crate::agents::Agent;
use crate::error::Result;
use crate::lake::layout::Layout;
use crate::lake::manifest::Manifest;
use crate::lake::suspects::Breadcrumbs;
use crate::source::RunCache;

/// Lists the sources that a run would read.
pub(super) fn dry_run(options: &Options, layout: &Layout) -> Result<Summary> {
    let manifest = Manifest::load(layout)?.unwrap_or_default();
    let (policy, cache) = (Policy::of(options), RunCache::default());
    let (pass, breadcrumbs) = (Pass::default(), Breadcrumbs::default());
    let run = Run {
        options,
        layout,
        progress: &Silent,
        now: crate::time::now(),
        policy: &policy,
        cache: &cache,
        pass: &pass,
        breadcrumbs: &breadcrumbs,
    };
    let plan = plan::plan(run, &manifest)?;
    let mut summary =
        report::summary(run, &plan, report::ReadTotals::default(), &manifest, &report::known_bad(run, &manifest));
    let due = plan.found.iter().filter(|planned| plan.changed.contains(&planned.name));
    let due = due.filter(|planned| planned.section.is_none());
    summary.would_read =
        due.map(|planned| (planned.path().to_owned(), if planned.is_new { "new" } else { "changed" })).collect();
    if options.looks_into_projects() && !summary.would_read.is_empty() {
        let agents = plan::chosen_agents(options).into_iter().map(Agent::about);
        summary.would_look_for = agents.filter(|about| about.keeps_files_in_projects()).map(|about| about.id).collect();
    }
    Ok(summary)
}
