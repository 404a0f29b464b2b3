//! Tokens of code hosts, package registries and build services.

use super::super::rule::Rule;
use super::ended;

pub(super) static RULES: &[Rule] = &[
    Rule::new("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[pousr]_[A-Za-z0-9]{36,255}")
        .matches(&[
            "ghp_{a36}",
            "gho_{a36}",
            "ghu_{a36}",
            "ghs_{a36}",
            "ghr_{a76}",
            "https://x-access-token:ghs_{a36}@github.com/o/r",
        ])
        .misses(&["ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "ghs_", "weighs_more"]),
    Rule::new("github-token", &["github_pat_"], r"github_pat_[A-Za-z0-9_]{60,255}")
        .matches(&["github_pat_11{a20}_{a59}"])
        .misses(&["github_pat_11AAAAAAA", "GITHUB_PAT_TOKEN"]),
    Rule::new(
        "gitlab-token",
        &[
            "glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-",
            "glsoat-", "glffct-",
        ],
        r"gl(?:pat|dt|rtr?|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_-]{20,300}(?:\.[A-Za-z0-9._-]{2,40})?",
    )
    .matches(&[
        "glpat-{w20}",
        "gldt-{w20}",
        "glrt-{w20}",
        "glcbt-ab_{w20}",
        "glptt-{h40}",
        "glpat-{w27}.01.{l9}",
        "glagent-{w50}",
        "https://oauth2:glpat-{w20}@gitlab.com/a/b.git",
    ])
    .misses(&["glpat-xxxxxxxxxxxxxxxxxxxx", "glpat-", "glft-x"]),
    Rule::new("npm-token", &["npm_"], ended!(r"npm_[A-Za-z0-9]{36,64}"))
        .entropy(3.0)
        .matches(&["npm_{a36}", "//registry.npmjs.org/:_authToken=npm_{a36}"])
        .misses(&["npm_config_registry=https://registry.npmjs.org/", "npm_package_version"]),
    Rule::new(
        "npm-auth",
        &["_authToken", "_auth="],
        r#"(?:_authToken|_auth)[ \t]{0,4}[=:][ \t]{0,4}["']?([A-Za-z0-9+/_=-]{16,400})"#,
    )
    .random()
    .generic()
    .entropy(3.0)
    .matches(&["//npm.pkg.github.com/:_authToken={h8}-{h4}-{h4}-{h4}-{h12}", "_auth={b40}="])
    .misses(&["_authToken=${NPM_TOKEN}", "_auth=basic"]),
    Rule::new("pypi-token", &["pypi-AgE"], r"pypi-AgE[A-Za-z0-9_-]{50,1000}")
        .matches(&["pypi-AgEIcHlwaS5vcmc{w140}", "pypi-AgENdGVzdC5weXBpLm9yZw{w140}"])
        .misses(&["pypi-AgEIcHlwaS5vcmc"]),
    Rule::new("rubygems-key", &["rubygems_"], r"rubygems_[a-f0-9]{48}")
        .matches(&["rubygems_{h48}"])
        .misses(&["rubygems_version"]),
    Rule::new("crates-io-token", &["cio"], ended!(r"cio[A-Za-z0-9]{32}"))
        .random()
        .entropy(3.5)
        .matches(&["token = \"cio{a32}\"", "CARGO_REGISTRY_TOKEN=cio{a32}", "cargo login cio{a32}", "+cio{a32}"])
        .misses(&["\"ciomany\"", "=cio", "precio", "ciofindsthestationsthatareclosetoyou"]),
    Rule::new("clojars-token", &["CLOJARS_"], r"CLOJARS_[a-z0-9]{60}")
        .matches(&["CLOJARS_{l60}"])
        .misses(&["CLOJARS_USERNAME"]),
    Rule::new("docker-token", &["dckr_pat_", "dckr_oat_"], r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{24,40}")
        .matches(&["dckr_pat_{w27}", "dckr_oat_{w32}"])
        .misses(&["dckr_pat_"]),
    Rule::new("atlassian-token", &["ATATT3", "ATCTT3"], r"AT[AC]TT3[A-Za-z0-9_=-]{100,300}")
        .matches(&["ATATT3{w186}", "ATCTT3{w186}"])
        .misses(&["ATATT3"]),
    Rule::new("bitbucket-app-password", &["ATBB"], ended!(r"ATBB[A-Za-z0-9]{32}"))
        .entropy(3.0)
        .matches(&["ATBB{a32}"])
        .misses(&["ATBB"]),
    Rule::new("circleci-token", &["CCIPAT_", "CCIPRJ_"], r"CCIP(?:AT|RJ)_[A-Za-z0-9]{20,24}_[a-f0-9]{40}")
        .matches(&["CCIPAT_{a22}_{h40}"])
        .misses(&["CCIPAT_"]),
    Rule::new("buildkite-token", &["bkua_"], r"bkua_[a-f0-9]{40}").matches(&["bkua_{h40}"]).misses(&["bkua_"]),
    Rule::new("sourcegraph-token", &["sgp_"], r"sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}")
        .matches(&["sgp_{h16}_{h40}", "sgp_{h40}"])
        .misses(&["sgp_total"]),
    Rule::new("artifactory-key", &["AKCp", "cmVmdGtu"], ended!(r"(?:AKCp[A-Za-z0-9]{69}|cmVmdGtu[A-Za-z0-9]{56})"))
        .entropy(4.0)
        .matches(&["AKCp{a69}", "cmVmdGtu{a56}"])
        .misses(&["AKCp"]),
    Rule::new("sonar-token", &["sqp_", "squ_", "sqa_"], r"sq[pua]_[a-f0-9]{40}")
        .matches(&["sqp_{h40}", "squ_{h40}"])
        .misses(&["sqp_solver"]),
    Rule::new("postman-key", &["PMAK-"], r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}")
        .matches(&["PMAK-{h24}-{h34}"])
        .misses(&["PMAK-..."]),
];
