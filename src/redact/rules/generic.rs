//! Rules of the strict mode: values assigned to something that is called a secret.

use super::super::rule::{Edge, Rule};
use super::{assigned, is_word};

const fn is_name(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'-' | b'.')
}

pub(super) static RULES: &[Rule] = &[
    Rule::new(
        "password",
        &["assword", "ASSWORD", "asswd", "ASSWD", "assphrase", "ASSPHRASE", "_PASS", "_pass", "_PWD", "_pwd"],
        assigned!(
            r"(?i-u:[a-z0-9_.-]*(?:password|passwd|passphrase|_pass|_pwd)[a-z0-9_]{0,20})",
            r##"[A-Za-z0-9!#%&@^*+/~_.=?-][^\s"'`‹›<>(){}\[\],;\\]{5,}"##
        ),
    )
    .within(1 << 10)
    .after_run_of(is_name)
    .strict()
    .entropy(2.5)
    .digits()
    .matches(&["DB_PASSWORD={a16}4x", "password: \"{a14}7q!\"", r#"{"passwd":"{a12}9z"}"#, "SMTP_PASS={a20}5"])
    .misses(&[
        "password = getPassword()", "password: string", "passwordHash := hash(password)", "DB_PASSWORD=${DB_PASSWORD}", "password: <your password>",
        "PASSWORD=changeme123", "password=********",
    ]),
    Rule::new(
        "assigned-secret",
        &[
            "ecret", "ECRET", "oken", "OKEN", "pi_key", "PI_KEY", "piKey", "pi-key", "pikey", "PIKEY", "ccess_key", "CCESS_KEY", "ccessKey",
            "redential", "REDENTIAL", "_KEY", "rivate_key", "rivateKey", "ncryption_key", "ncryptionKey", "_AUTH", "_SALT", "_DSN",
        ],
        assigned!(
            r"(?i-u:[a-z0-9_.-]*(?:secret|token|api[_-]?key|access[_-]?key|credential|private[_-]?key|encryption[_-]?key|_key|_auth|_salt|_dsn)[a-z0-9_]{0,20})",
            r"[A-Za-z0-9][A-Za-z0-9+/_.=~:@-]{15,500}"
        ),
    )
    .after_run_of(is_name)
    .strict()
    .entropy(3.3)
    .random()
    .matches(&[
        "CLIENT_SECRET={a32}", "session_token: '{w40}'", r#"{"apiKey":"{h32}"}"#, "x-api-key: {a40}", "SECRET_KEY={a50}", "export FOO_AUTH={b40}",
        r#"\"refresh_token\": \"{w64}\""#,
    ])
    .misses(&[
        "max_tokens: 4096", "token = next_token_from_lexer_stream", "api_key = os.environ[\"API_KEY\"]", "secret: ExternalSecretReference",
        "input_tokens: 123456789, output_tokens: 12", "tokenizer = AutoTokenizer.from_pretrained",
    ]),
    Rule::new(
        "secret-argument",
        &["--pass", "--pwd", "--toke", "--api-", "--apik", "--secr", "--auth", "--acce", "--clie", "--priv"],
        r#"--(?:pass(?:word|wd|phrase)?|pwd|(?:[a-z]+-)?token|api-?key|(?:[a-z]+-)?secret(?:-key)?|auth-[a-z]+|access-key)(?:=|[ \t]{1,4})\\?["'`]?([A-Za-z0-9!#%&@^*+/~_.=?][^\s"'`‹›<>(){}\[\],;\\$]{5,})"#,
    )
    .within(1 << 10)
    .edge(Edge::Open)
    .strict()
    .entropy(2.5)
    .digits()
    .matches(&["mysql --password {a14}8", "tool --token {a32}", "x --api-key '{h32}'", "--client-secret {a20}1"])
    .misses(&["--password-stdin", "--token $TOKEN", "--token <token>", "--api-key", "--password prompt"]),
    Rule::new("basic-auth-argument", &[" -u ", "--user "], r#"(?: -u|--user) \\?["'`]?[A-Za-z0-9_.@-]{1,64}:([^\s"'`‹›<>(){}\[\],;\\$/:]{6,})"#)
        .within(1 << 10)
        .edge(Edge::Open)
        .strict()
        .entropy(2.5)
        .digits()
        .matches(&["curl -u admin:{a14}3 https://h", "curl --user \"bob:{a16}2\" x"])
        .misses(&["docker run -u 1000:1000 x", "curl -u user:password x", "git push -u origin main"]),
];
