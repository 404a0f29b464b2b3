//! Keys of services: chat, payment, mail, monitoring, documents; and JSON web tokens.

use super::super::rule::{Edge, Rule};
use super::ended;

const fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

pub(super) static RULES: &[Rule] = &[
    Rule::new(
        "slack-token",
        &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxe-", "xoxe.", "xoxs-", "xoxo-", "xoxc-", "xoxd-"],
        r"xox[bparesocd](?:[.-][A-Za-z0-9%+/]{1,300}){1,8}",
    )
    .entropy(2.5)
    .matches(&["xoxb-{d12}-{d13}-{a24}", "xoxp-{d12}-{d12}-{d12}-{h32}", "xoxe.xoxp-1-{a146}", "xoxa-2-{d12}-{a32}", "xoxr-{d12}-{a32}"])
    .misses(&["xoxb-", "xoxb-xxxxxxxxxxxx-xxxxxxxxxxxx", "xoxb-your-token"]),
    Rule::new("slack-token", &["xapp-"], r"xapp-[0-9]-[A-Z0-9]{8,14}-[0-9]{10,14}-[a-f0-9]{64}")
        .matches(&["xapp-1-A{u10}-{d13}-{h64}"])
        .misses(&["xapp-1-A0-0-x"]),
    Rule::new("slack-webhook", &["hooks.slack.com/"], r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{30,80})")
        .edge(Edge::Open)
        .matches(&["https://hooks.slack.com/services/T{u10}/B{u10}/{a24}"])
        .misses(&["https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"]),
    Rule::new("teams-webhook", &["webhook.office.com/"], r"webhook\.office\.com/webhookb2/([a-f0-9@/-]{60,160}/IncomingWebhook/[A-Za-z0-9/-]{40,120})")
        .edge(Edge::Open)
        .matches(&["https://o.webhook.office.com/webhookb2/{h8}-{h4}-{h4}-{h4}-{h12}@{h8}-{h4}-{h4}-{h4}-{h12}/IncomingWebhook/{h32}/{h8}-{h4}-{h4}-{h4}-{h12}"])
        .misses(&["https://o.webhook.office.com/webhookb2/"]),
    Rule::new("discord-webhook", &["/api/webhooks/"], r"/api/webhooks/([0-9]{17,20}/[A-Za-z0-9_-]{60,80})")
        .edge(Edge::Open)
        .matches(&["https://discord.com/api/webhooks/{d18}/{w68}"])
        .misses(&["POST /api/webhooks/github"]),
    Rule::new("telegram-bot-token", &[":AAE", ":AAF", ":AAG", ":AAH"], r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?-u:\b)")
        .after_run_of(is_digit)
        .edge(Edge::Open)
        .matches(&["{d10}:AAH{w31}z", "https://api.telegram.org/bot{d9}:AAE{w31}z/sendMessage"])
        .misses(&["12:AAFF", "0:AAE"]),
    Rule::new("stripe-key", &["sk_live_", "rk_live_", "sk_test_", "rk_test_", "sk_prod_", "rk_prod_"], r"[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,250}")
        .entropy(2.5)
        .matches(&["sk_live_{a24}", "sk_test_51{a97}", "rk_live_{a24}"])
        .misses(&["sk_test_", "task_test_runner", "sk_live_xxxxxxxxxxxxxxxxxxxxxxxx"]),
    Rule::new("stripe-webhook-secret", &["whsec_"], r"whsec_[A-Za-z0-9+/=]{24,80}").matches(&["whsec_{a32}"]).misses(&["whsec_..."]),
    Rule::new("square-token", &["EAAA"], r"EAAA[A-Za-z0-9_-]{60}(?-u:\b)")
        .edge(Edge::Token)
        .entropy(4.0)
        .matches(&["EAAAE{w58}z"])
        .misses(&["EAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]),
    Rule::new("square-token", &["sq0atp-", "sq0csp-", "sq0idp-"], r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,50}")
        .matches(&["sq0atp-{w22}", "sq0csp-{w43}"])
        .misses(&["sq0atp-"]),
    Rule::new("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}")
        .matches(&["shpat_{h32}", "shpss_{h32}"])
        .misses(&["shpat_token"]),
    Rule::new("braintree-token", &["access_token$production$"], r"access_token\$production\$[a-z0-9]{16}\$[a-f0-9]{32}")
        .matches(&["access_token$production${l16}${h32}"])
        .misses(&["access_token$production$"]),
    Rule::new("sendgrid-key", &["SG."], r"SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}").matches(&["SG.{w22}.{w43}"]).misses(&["MSG.send()", "SG.x.y"]),
    Rule::new("brevo-key", &["xkeysib-", "xsmtpsib-"], r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}")
        .matches(&["xkeysib-{h64}-{a16}"])
        .misses(&["xkeysib-"]),
    Rule::new("mailgun-key", &["key-"], ended!(r"key-[a-f0-9]{32}")).entropy(2.8).matches(&["key-{h32}"]).misses(&["key-value", "key-0"]),
    Rule::new("mailchimp-key", &["-us"], ended!(r"[a-f0-9]{32}-us[0-9]{1,2}"))
        .after_run_of(is_lower_hex)
        .entropy(2.8)
        .matches(&["{h32}-us12"])
        .misses(&["cdn-us1", "user-us-east"]),
    Rule::new("linear-key", &["lin_api_", "lin_oauth_"], r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}").matches(&["lin_api_{a40}"]).misses(&["lin_api_key"]),
    Rule::new("notion-token", &["ntn_"], r"ntn_[A-Za-z0-9]{40,50}").matches(&["ntn_{d11}{a35}"]).misses(&["ntn_page"]),
    Rule::new("notion-token", &["secret_"], ended!(r"secret_[A-Za-z0-9]{43}")).entropy(3.5).matches(&["secret_{a43}"]).misses(&["secret_key_base", "secret_"]),
    Rule::new("figma-token", &["figd_"], r"figd_[A-Za-z0-9_-]{38,60}").matches(&["figd_{w40}"]).misses(&["figd_"]),
    Rule::new("grafana-token", &["glc_", "glsa_"], r"(?:glc_[A-Za-z0-9+/]{32,400}={0,3}|glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8})")
        .matches(&["glc_eyJ{b120}", "glsa_{a32}_{h8}"])
        .misses(&["glc_context", "glsa_x"]),
    Rule::new("new-relic-key", &["NRAK-", "NRJS-", "NRII-"], r"NR(?:AK|JS|II)-[A-Za-z0-9-]{19,40}").matches(&["NRAK-{u27}"]).misses(&["NRAK-..."]),
    Rule::new("sentry-token", &["sntrys_", "sntryu_"], r"sntry(?:s_[A-Za-z0-9+/=_-]{60,400}|u_[a-f0-9]{64})")
        .matches(&["sntrys_eyJ{b120}_{b43}", "sntryu_{h64}"])
        .misses(&["sntrys_"]),
    Rule::new("posthog-key", &["phx_"], r"phx_[A-Za-z0-9]{40,60}").matches(&["phx_{a43}"]).misses(&["phx_new"]),
    Rule::new("json-web-token", &["eyJ"], r"eyJ[A-Za-z0-9_-]{14,}\.eyJ[A-Za-z0-9_-]{8,}\.(?:[A-Za-z0-9_-]{8,})?")
        .within(16 << 10)
        .never_a_placeholder()
        .matches(&["eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{w120}.{w43}", "token=eyJ{w60}.eyJ{w200}.{w342}"])
        .misses(&["eyJ", "eyJhbGciOiJIUzI1NiJ9", "eyJhbGciOiJIUzI1NiJ9..."]),
    Rule::new("json-web-token", &["eyJ"], r"eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{12,64}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{20,64}")
        .within(16 << 10)
        .edge(Edge::Token)
        .never_a_placeholder()
        .matches(&["eyJ{w60}.{w342}.{w16}.{w400}.{w22}"])
        .misses(&["eyJhbGciOiJIUzI1NiJ9.a.b.c.d"]),
];

const fn is_lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}
