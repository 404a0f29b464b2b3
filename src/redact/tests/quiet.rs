use std::borrow::Cow;
use std::fmt::Write as _;

use super::super::Mode;
use super::{Dice, expand, redacted};

const PROSE: &str = "The bearer of this letter asked for a basic token of trust. An API key, said the keeper (https://en.wikipedia.org/\
wiki/Key_(lock)#History), is a password: it must be kept secret. See https://docs.rs/regex@1.12/regex, http://localhost:3000/@vite/client, \
git@github.com:owner/repo.git, ssh://git@github.com:22/owner/repo. Set OPENAI_API_KEY, then run; authorization is required. Ask Eurasia, \
Slovakia, Voltaire. Use sk-ant-... or ${ANTHROPIC_API_KEY}. task-project, risk-admin, xai-org/grok-1, path.to/patterns, x@y.org.";

const CODE: &str = r#"
let token = lexer.next_token().ok_or(ParseError::UnexpectedEnd)?; let secret_key = config.secret_key.clone();
const API_KEY = process.env.API_KEY; headers: { Authorization: `Bearer ${accessToken}`, "x-api-key": apiKey }
password: str = Field(..., description="The user's password"); def get_token(self) -> str: return self._token
if line.starts_with("-----BEGIN RSA PRIVATE KEY-----") { return Err(KeyError::Unsupported) }
pub fn hf_hub_download(repo_id: &str, npm_config_user_agent: &str, secret_name: &str) -> eyJ;
std::env::var("GITHUB_TOKEN").or_else(|_| std::env::var("GH_TOKEN")); github_pat_prefix = "github_pat_"
npm_package_version=1.0.0 re_compile_pattern_internal sbp_table_for_v2 pk_test_mode xoxb- AKIA ASIA ya29. SG. dapi glpat-
"#;

#[test]
fn texts_without_secrets_stay_as_they_are() {
    for text in [PROSE, CODE] {
        let (clean, counts) = redacted(Mode::Secrets, text);
        assert!(matches!(clean, Cow::Borrowed(_)), "{clean}");
        assert!(counts.is_empty());
    }
}

#[test]
fn identifiers_and_hashes_are_no_secrets() {
    let mut dice = Dice(0xFACE);
    let mut text = String::new();
    for _ in 0..2_000 {
        let line = "\"id\": \"msg_01{a22}\", \"toolu_01{a22}\", req_011C{a20}, call_{a24}, chatcmpl-{a29}, uuid {h8}-{h4}-4{h3}-a{h3}-{h12}, \
             commit {h40} index {h7}..{h7}, sha256:{h64}, \"integrity\": \"sha512-{b86}==\", checksum = \"{h64}\", thread_{a24} resp_{h48}, \
             etag W/\"{h32}\", https://cdn.test/{h40}/a.js, snowflake {d18}, ses_{l26}, signature \"E{b120}==\", trace {h32}-{h16}-01";
        let _ = writeln!(text, "{}", expand(line, &mut dice).0);
    }
    let (clean, counts) = redacted(Mode::Secrets, &text);
    assert!(
        counts.is_empty(),
        "{:?} in {}",
        counts,
        clean.split('\n').find(|line| line.contains('‹')).unwrap_or_default()
    );
}

#[test]
fn image_data_has_no_secrets() {
    let image = expand(&"{b76}\n".repeat(40_000), &mut Dice(0xD1CE)).0;
    for text in [format!("data:image/png;base64,{}", image.replace('\n', "")), image] {
        let (_, counts) = redacted(Mode::Secrets, &text);
        assert!(counts.is_empty(), "{counts:?}");
    }
}

#[test]
fn nothing_is_looked_for_when_asked_not_to() {
    let (token, _) = expand("ghp_{a36}", &mut Dice(5));
    assert_eq!(redacted(Mode::None, &token).0, token);
}
