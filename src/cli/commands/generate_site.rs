//! `undust generate site`.

use super::generate_list::{open_with_truth, publish_with_truth};
use crate::bytes::decimal::with_commas;
use crate::cli::Status;
use crate::cli::args::{GenerateSiteArgs, SitePresetArg, SiteToArg};
use crate::cli::words::say;
use crate::error::{Error, Result};
use crate::generate::sites::{
    Chances, CrawlFormat, Feature, FeatureKind, Noise, SITE_TRUTH_HEADER, Sites, SitesPlan,
    SitesPreset, SitesSummary, write_capture, write_site_truth,
};
use crate::report::ClaimedPaths;

/// Features that give a site more than one host or scheme, which a log without hosts cannot tell
/// apart.
const OF_HOSTS: [Feature; 5] =
    [Feature::MirrorHost, Feature::Www, Feature::MobileHost, Feature::Scheme, Feature::SubSite];

pub(crate) fn run(args: &GenerateSiteArgs, claims: &mut ClaimedPaths) -> Result<Status> {
    let plan = plan(args)?;
    let format = format(args.to, &plan);
    let sites = Sites::new(&plan)?;
    let (output, truth) = (args.output.as_deref(), args.truth.as_deref());
    let (mut output, mut truth_file) =
        open_with_truth(claims, output, truth, &args.sync, SITE_TRUTH_HEADER)?;
    if let Some(header) = format.header() {
        output.write_line(header.as_bytes(), b'\n')?;
    }
    let (mut summary, mut line) = (SitesSummary::default(), Vec::new());
    let mut written = 0;
    for site in sites {
        if args.verbose {
            summary.add(&site);
        }
        for capture in site.captures.iter().filter(|capture| format.holds(capture)) {
            line.clear();
            write_capture(&mut line, format, capture)
                .map_err(|error| Error::writing("memory", error))?;
            output.write(&line)?;
            written += 1;
            if let Some(file) = &mut truth_file {
                line.clear();
                write_site_truth(&mut line, capture)
                    .map_err(|error| Error::writing("memory", error))?;
                file.write(&line)?;
            }
        }
    }
    publish_with_truth(output, truth_file)?;
    if args.verbose {
        tell(&plan, &summary, written);
    }
    Ok(Status::Done)
}

fn plan(args: &GenerateSiteArgs) -> Result<SitesPlan> {
    let mut plan = SitesPlan::preset(match args.preset {
        SitePresetArg::Clean => SitesPreset::Clean,
        SitePresetArg::Noisy => SitesPreset::Noisy,
        SitePresetArg::Large => SitesPreset::Large,
        SitePresetArg::Cms => SitesPreset::Cms,
    });
    plan.seed = args.seed;
    plan.sites = args.sites.unwrap_or(plan.sites);
    plan.urls_per_site = args.urls.unwrap_or(plan.urls_per_site);
    if let Some(thousandths) = args.noise {
        plan.noise = Noise::fixed(thousandths);
    }
    for name in &args.without {
        plan.chances.set(Feature::named(name)?, 0);
    }
    if let Some(only) = &args.only {
        plan.chances = Chances::none();
        // `--only ''` is no feature at all.
        for name in only.iter().filter(|name| !name.is_empty()) {
            plan.chances.set(Feature::named(name)?, 100);
        }
    }
    Ok(plan)
}

fn format(to: SiteToArg, plan: &SitesPlan) -> CrawlFormat {
    let has_hosts = OF_HOSTS.into_iter().any(|feature| plan.chances.get(feature) > 0);
    match to {
        SiteToArg::Cdxj => CrawlFormat::Cdxj,
        SiteToArg::Crawllog => CrawlFormat::CrawlLog,
        SiteToArg::Combined if plan.sites > 1 || has_hosts => CrawlFormat::VhostCombined,
        SiteToArg::Combined => CrawlFormat::Combined,
        SiteToArg::Tsv => CrawlFormat::Tsv,
    }
}

/// What was made, in words; `written` are the captures for which the format has rows.
fn tell(plan: &SitesPlan, summary: &SitesSummary, written: u64) {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    say(format_args!(
        "undust: seed {}: {} captures of {} URLs of {} pages on {} sites",
        plan.seed,
        with_commas(summary.captures),
        with_commas(summary.urls),
        with_commas(summary.pages),
        with_commas(summary.sites),
    ));
    if written < summary.captures {
        say(format_args!(
            "undust: {} captures are written; requests by HEAD have no row in this format",
            with_commas(written)
        ));
    }
    say(format_args!(
        "undust: redundant {} of the URLs; of that, digests can show {}, with redirects {}",
        percent(summary.redundancy_share()),
        percent(summary.digest_ceiling()),
        percent(summary.redirect_ceiling()),
    ));
    say(format_args!(
        "undust: equal digests on different pages: {} pairs of digest and page, beyond the first of each digest",
        with_commas(summary.coincidences)
    ));
    for kind in [FeatureKind::Spelling, FeatureKind::Trap, FeatureKind::Signal] {
        for feature in Feature::all().filter(|feature| feature.kind() == kind) {
            if summary.sites_with(feature) > 0 {
                say(format_args!(
                    "undust: {:<8} {:<16} {:>3} % of sites: {:>4} sites, {:>9} URLs",
                    kind.name(),
                    feature.name(),
                    plan.chances.get(feature),
                    with_commas(summary.sites_with(feature)),
                    with_commas(summary.urls_with(feature)),
                ));
            }
        }
    }
}
