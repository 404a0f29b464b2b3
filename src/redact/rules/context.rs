//! Secrets without a form of their own, known by the name of their variable, header or URL.

use super::super::rule::{Edge, Rule};
use super::{assigned, is_word};

/// Parts of names of variables with such secrets.
const NAMES: &[&str] = &["_API_", "_api_", "_TOKEN", "auth_token", "_APP_KEY", "_ACCESS_KEY", "WANDB_"];

const fn is_name(byte: u8) -> bool {
    is_word(byte)
}

pub(super) static RULES: &[Rule] = &[
    Rule::new("mistral-api-key", &["_API_", "_api_"], assigned!("(?i-u:[a-z0-9_]*mistral_api_key)", "[A-Za-z0-9]{32}"))
        .after_run_of(is_name)
        .entropy(3.0)
        .matches(&["MISTRAL_API_KEY={a32}", "mistral_api_key: \"{a32}\""])
        .misses(&["MISTRAL_API_KEY=your_key_here", "MISTRAL_API_KEY=${MISTRAL_API_KEY}"]),
    Rule::new("deepseek-api-key", &["_API_", "_api_"], assigned!("(?i-u:[a-z0-9_]*deepseek_api_key)", "sk-[A-Za-z0-9]{32}"))
        .after_run_of(is_name)
        .matches(&["DEEPSEEK_API_KEY=sk-{h32}", r#""deepseek_api_key": "sk-{h32}""#])
        .misses(&["DEEPSEEK_API_KEY=sk-..."]),
    Rule::new("cohere-api-key", &["_API_", "_api_"], assigned!("(?i-u:(?:[a-z0-9_]*cohere|co)_api_key)", "[A-Za-z0-9]{40}"))
        .after_run_of(is_name)
        .entropy(3.0)
        .matches(&["CO_API_KEY={a40}", "COHERE_API_KEY='{a40}'"])
        .misses(&["COHERE_API_KEY="]),
    Rule::new(
        "cloudflare-api-token",
        &["_API_", "_api_", "_ORIGIN_CA"],
        assigned!("(?i-u:[a-z0-9_]*(?:cloudflare|cf)_(?:global_)?api_(?:token|key))", "[A-Za-z0-9_-]{37,53}"),
    )
    .after_run_of(is_name)
    .entropy(3.0)
    .matches(&["CLOUDFLARE_API_TOKEN={w40}", "CF_API_KEY={h37}", "export CF_API_TOKEN=\"{w40}\""])
    .misses(&["CLOUDFLARE_API_TOKEN=", "CF_API_TOKEN: ${{ secrets.CF_API_TOKEN }}"]),
    Rule::new(
        "twilio-secret",
        &["_TOKEN", "auth_token", "_API_", "_api_"],
        assigned!("(?i-u:[a-z0-9_]*twilio_(?:auth_token|api_(?:key|secret|key_secret)))", "(?:SK)?[A-Za-z0-9]{32}"),
    )
    .after_run_of(is_name)
    .entropy(2.8)
    .matches(&["TWILIO_AUTH_TOKEN={h32}", "TWILIO_API_KEY=SK{h32}", "TWILIO_API_SECRET={a32}"])
    .misses(&["TWILIO_AUTH_TOKEN=your_auth_token"]),
    Rule::new("vercel-token", &["_TOKEN", "_API_"], assigned!("(?i-u:[a-z0-9_]*vercel_(?:api_)?token)", "[A-Za-z0-9]{24}"))
        .after_run_of(is_name)
        .entropy(3.0)
        .matches(&["VERCEL_TOKEN={a24}"])
        .misses(&["VERCEL_TOKEN=$VERCEL_TOKEN"]),
    Rule::new(
        "discord-bot-token",
        &["_TOKEN", "auth_token", "Bot "],
        r#"(?:(?i-u:[a-z0-9_]*token)\\?["'`]?[ \t]{0,4}[=:][ \t]{0,4}\\?["'`]?(?:Bot )?|Bot )([MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38})"#,
    )
    .after_run_of(is_name)
    .matches(&["DISCORD_TOKEN=M{w25}.{w6}.{w38}", "Authorization: Bot N{w23}.{w6}.{w27}"])
    .misses(&["DISCORD_TOKEN=your.bot.token", "Bot User"]),
    Rule::new("okta-token", &["_TOKEN", "_API_", "SSWS "], r#"(?:(?i-u:[a-z0-9_]*okta[a-z0-9_]*)\\?["'`]?[ \t]{0,4}[=:][ \t]{0,4}\\?["'`]?|SSWS )(00[A-Za-z0-9_-]{40})"#)
        .after_run_of(is_name)
        .entropy(3.0)
        .matches(&["OKTA_API_TOKEN=00{w40}", "Authorization: SSWS 00{w40}"])
        .misses(&["SSWS {token}"]),
    Rule::new(
        "datadog-key",
        &["_API_", "_api_", "_APP_KEY"],
        assigned!("(?i-u:[a-z0-9_]*(?:dd|datadog)_(?:api|app)_key)", "(?:[a-f0-9]{40}|[a-f0-9]{32})"),
    )
    .after_run_of(is_name)
    .entropy(2.8)
    .matches(&["DD_API_KEY={h32}", "DD_APP_KEY={h40}", "datadog_api_key: {h32}"])
    .misses(&["DD_API_KEY=<DATADOG_API_KEY>", "ADD_API_KEY=1"]),
    Rule::new(
        "service-api-key",
        NAMES,
        assigned!(
            "(?i-u:[a-z0-9_]*(?:ai21|airtable|algolia|anthropic|asana|assemblyai|azure|bitbucket|brave|cargo_registry|cerebras|circleci?|cloudinary|codecov|confluent|contentful|datadog|deepgram|digitalocean|discord|dropbox|elevenlabs|exa|fastly|firecrawl|fireworks|gemini|github|gitlab|google|groq|grok|hf|helicone|heroku|honeycomb|hubspot|huggingface|intercom|jira|kaggle|launchdarkly|linear|mailchimp|mailgun|mapbox|mongodb|netlify|newrelic|notion|npm|okta|openai|pagerduty|pinecone|posthog|postmark|qdrant|railway|replicate|resend|segment|sendgrid|sentry|serper|serpapi|slack|snyk|sonar|square|stability|stripe|supabase|tavily|telegram|together|travis|vault|voyage|wandb|weaviate|x|xai|zendesk|zhipu|zai)(?:_[a-z0-9]+){0,3}_(?:key|token|secret))",
            r"[A-Za-z0-9_-][A-Za-z0-9+/_.=-]{18,300}"
        ),
    )
    .after_run_of(is_name)
    .generic()
    .random()
    .entropy(3.2)
    .matches(&[
        "WANDB_API_KEY={h40}", "CODECOV_TOKEN={h8}-{h4}-{h4}-{h4}-{h12}", "AZURE_OPENAI_API_KEY={h32}", "SNYK_TOKEN={h8}-{h4}-{h4}-{h4}-{h12}",
        r#"{"ELEVENLABS_API_KEY":"{h32}"}"#, r#"\"FASTLY_API_TOKEN\": \"{w32}\""#, "TOGETHER_API_KEY={h64}", "RESEND_API_KEY=re_{a8}_{a24}", "AIRTABLE_API_KEY=pat{a14}.{h64}",
    ])
    .misses(&[
        "OPENAI_API_KEY=os.environ.get", "openai_api_key = settings.openai_api_key", "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
        "let github_api_token = load_github_api_token_from_env", "HF_TOKEN=hf_your_token",
    ]),
    Rule::new(
        "authorization-header",
        &["uthorization", "UTHORIZATION"],
        r#"(?i-u:uthorization)\\?["'`]?[ \t]{0,4}[:=,][ \t]{0,4}\\?["'`]?(?:(?i-u:bearer|token|apikey|api-key|key|bot|jwt|oauth) {1,2}([A-Za-z0-9+/_.=~:-]{12,})|(?i-u:basic) {1,2}([A-Za-z0-9+/]{8,}={0,2})|([A-Za-z0-9+/_.=~-]{24,}))"#,
    )
    .within(8 << 10)
    .edge(Edge::Open)
    .generic()
    .random()
    .entropy(2.8)
    .matches(&[
        "Authorization: Bearer {a40}", "authorization: Basic {b24}==", r#""Authorization": "Bearer {w64}""#, r#"-H \"Authorization: token {h40}\""#,
        "AUTHORIZATION=Bearer {a40}", "Proxy-Authorization: Basic {b32}", "Authorization: Bearer {w6000}",
    ])
    .misses(&[
        "Authorization: Bearer $TOKEN", "Authorization: Bearer <token>", "Authorization: Bearer ${token}", "the Authorization header is required",
        "Authorization: Bearer YOUR_API_KEY_HERE", "Authorization: Bearer accessTokenProvider", "authorization: authorizationHeaderValueProvider",
    ]),
    Rule::new("bearer-token", &["earer "], r"earer {1,2}([A-Za-z0-9+/_.=~-]{20,})")
        .within(8 << 10)
        .edge(Edge::Open)
        .generic()
        .random()
    .entropy(3.0)
        .matches(&["curl -H 'X-Auth: Bearer {a40}'", "bearer {w64}", "bearer {w6000}"])
        .misses(&["bearer of good news", "Bearer authentication_is_required", "Bearer {token}"]),
    Rule::new("url-password", &["://"], r#"://[^\s/@:"'<>`‹›?#\\{}$]*:([^\s/@"'<>`‹›?#\\{}$*\[\]][^\s/@"'<>`‹›?#\\{}]{2,})@[A-Za-z0-9\[]"#)
        .within(1 << 10)
        .edge(Edge::Open)
        .generic()
        .matches(&["postgres://app:{a16}@db.internal:5432/app", "redis://:{a20}@cache:6379", "amqp://app:{a400}@queue", "mongodb+srv://u:{a12}@c0.mongodb.net/db", "https://oauth2:{a24}@git.host/r.git"])
        .misses(&[
            "https://user:${PASSWORD}@host/", "postgres://user:password@localhost/db", "git+ssh://git@github.com:owner/repo.git", "http://localhost:3000/@vite/client",
            "https://user:***@host", "https://user:<password>@host", "https://unpkg.com/react@18", "http://user:pass@host", "postgres://user:%s@host",
        ]),
];
