//! Maps the model names that agents record to the names of the price table.
//!
//! Names are compared whole, never by substring: each form of a name is converted to other forms of the same model, and
//! only an exact entry counts. So `gpt-5-mini` never gets the price of `gpt-5`.

use std::collections::HashMap;

use super::PriceError;
use super::table::Model;

/// Path segments that name the reseller or the maker of a model.
const PASSED_ON_BY: &[&str] = &[
    "anthropic",
    "azure",
    "azure_ai",
    "bedrock",
    "claude-code",
    "cline",
    "converse",
    "copilot",
    "deepseek",
    "gemini",
    "github_copilot",
    "github-copilot",
    "google",
    "google-vertex",
    "kilo",
    "kilocode",
    "litellm",
    "litellm_proxy",
    "meta-llama",
    "minimax",
    "mistral",
    "mistralai",
    "models",
    "moonshot",
    "moonshotai",
    "openai",
    "opencode",
    "openrouter",
    "qwen",
    "requesty",
    "roo",
    "us",
    "vercel",
    "vercel_ai_gateway",
    "vertex_ai",
    "x-ai",
    "xai",
    "z-ai",
    "zai",
    "zed",
];

/// Runners on the user's own machine. Their tokens cost nothing, whoever made the model.
const LOCAL: &[&str] = &[
    "gpt4all",
    "jan",
    "llama.cpp",
    "llama_cpp",
    "llamacpp",
    "llamafile",
    "lm_studio",
    "lmstudio",
    "local",
    "local_llama",
    "mlx",
    "ollama",
    "vllm",
];

/// Names of providers, and their names in the table.
const PROVIDERS: &[(&str, &str)] = &[
    ("alibaba", "dashscope"),
    ("amazon_bedrock", "bedrock"),
    ("azure_openai", "azure"),
    ("copilot", "github_copilot"),
    ("fireworks", "fireworks_ai"),
    ("google", "gemini"),
    ("google_vertex", "vertex_ai"),
    ("mistralai", "mistral"),
    ("moonshotai", "moonshot"),
    ("qwen", "dashscope"),
    ("together", "together_ai"),
    ("togetherai", "together_ai"),
    ("vercel", "vercel_ai_gateway"),
    ("vertex", "vertex_ai"),
    ("x_ai", "xai"),
    ("z_ai", "zai"),
];

/// Families that the table lists under their maker's name.
const MAKERS: &[(&str, &str)] = &[
    ("codestral", "mistral"),
    ("deepseek", "deepseek"),
    ("devstral", "mistral"),
    ("gemini", "gemini"),
    ("glm", "zai"),
    ("grok", "xai"),
    ("kimi", "moonshot"),
    ("magistral", "mistral"),
    ("minimax", "minimax"),
    ("mistral", "mistral"),
    ("qwen", "dashscope"),
];

/// Families to whose names some agents append the effort of thinking, at the same price per token.
const WITH_EFFORT: &[&str] = &["claude-", "gpt-", "o1", "o3", "o4", "codex-"];
const EFFORTS: &[&str] = &["-thinking", "-none", "-minimal", "-low", "-medium", "-high", "-xhigh"];
const REGIONS: &[&str] = &["us", "eu", "apac", "global", "jp", "au", "ca", "us-gov"];
const VARIANTS: &[&str] = &[":beta", ":thinking", ":nitro", ":floor", ":exacto", ":extended"];

/// Finds table entries by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    exact: HashMap<String, usize>,
    /// Names without their date, if all entries have one; the newest entry.
    undated: HashMap<String, usize>,
    aliases: HashMap<String, String>,
}

impl Index {
    pub(super) fn of(models: &[Model]) -> Self {
        let mut index = Self::default();
        for (at, model) in models.iter().enumerate() {
            index.insert(&model.key, at);
        }
        for (at, model) in models.iter().enumerate().filter(|(_, model)| model.listing.is_priced()) {
            if let Some(name) = without_date(&model.key.to_ascii_lowercase()) {
                index.undated.insert(name, at);
            }
        }
        index
    }

    pub(super) fn insert(&mut self, key: &str, at: usize) {
        self.exact.insert(key.to_ascii_lowercase(), at);
    }

    /// Returns the entry of exactly this name.
    pub(super) fn exact(&self, name: &str) -> Option<usize> {
        self.exact.get(&name.to_ascii_lowercase()).copied()
    }

    pub(super) fn alias(&mut self, name: &str, target: &str) -> Result<(), PriceError> {
        if self.exact(target).is_none() {
            let why = format!("it is to be an alias of {target}, which is in no table");
            return Err(PriceError::Entry { model: name.to_owned(), why });
        }
        self.aliases.insert(name.to_ascii_lowercase(), target.to_ascii_lowercase());
        Ok(())
    }

    /// Returns the entry that prices a recorded model name.
    ///
    /// `priced` is true if an entry has a price: the provider's own entry is preferred only if it has one.
    pub(super) fn resolve(&self, model: &str, provider: Option<&str>, priced: impl Fn(usize) -> bool) -> Option<usize> {
        let name = bare(model)?;
        let provider = provider.map(table_provider).filter(|provider| !provider.is_empty());
        if let Some(provider) = &provider {
            let own = self.exact(&format!("{provider}/{name}"));
            if is_local(provider) {
                return own.or_else(|| self.exact(&name).filter(|_| name.starts_with(&format!("{provider}/"))));
            }
            if let Some(own) = own.filter(|at| priced(*at)) {
                return Some(own);
            }
        }
        self.by_path(&name)
    }

    fn by_path(&self, name: &str) -> Option<usize> {
        let mut rest = name;
        loop {
            if let Some(found) = self.by_spelling(rest) {
                return Some(found);
            }
            let (head, tail) = rest.split_once('/')?;
            if !PASSED_ON_BY.contains(&head) {
                return None;
            }
            let of_maker = format!("{}/{tail}", table_provider(head));
            if let Some(found) = self.by_spelling(&of_maker) {
                return Some(found);
            }
            rest = tail;
        }
    }

    fn by_spelling(&self, name: &str) -> Option<usize> {
        self.listed(name).or_else(|| spellings(name).iter().find_map(|spelling| self.listed(spelling)))
    }

    fn listed(&self, name: &str) -> Option<usize> {
        self.listed_as(name).or_else(|| {
            let (_, maker) = MAKERS.iter().find(|(family, _)| name.starts_with(family))?;
            self.listed_as(&format!("{maker}/{name}"))
        })
    }

    fn listed_as(&self, name: &str) -> Option<usize> {
        let name = self.aliases.get(name).map_or(name, String::as_str);
        self.exact.get(name).or_else(|| self.undated.get(name)).copied()
    }
}

/// Converts a name to lower case, without the `[1m]` for the context window. Returns `None` if it is no model's name.
fn bare(model: &str) -> Option<String> {
    let name = model.trim().to_ascii_lowercase();
    let name = without_arn(name.strip_suffix("[1m]").unwrap_or(&name))?;
    (!name.is_empty() && !name.starts_with('<')).then(|| name.to_owned())
}

/// `arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-…`
///
/// Returns `None` for a customer's own profile: only AWS knows its model.
fn without_arn(name: &str) -> Option<&str> {
    let Some((_, resource)) = name.split_once("arn:").filter(|(path, _)| path.is_empty() || path.ends_with('/')) else {
        return Some(name);
    };
    let (kind, model) = resource.splitn(5, ':').nth(4)?.split_once('/')?;
    matches!(kind, "inference-profile" | "foundation-model").then_some(model)
}

fn table_provider(recorded: &str) -> String {
    let name = recorded.trim().to_ascii_lowercase().replace('-', "_");
    PROVIDERS.iter().find(|(other, _)| *other == name).map_or(name, |(_, table)| (*table).to_owned())
}

fn is_local(provider: &str) -> bool {
    LOCAL.contains(&provider)
}

/// Returns other forms of the same model's name, from the most similar on; the date is removed last.
fn spellings(name: &str) -> Vec<String> {
    if name.ends_with(":free") {
        return Vec::new();
    }
    let steps: [fn(&str) -> Option<String>; 9] = [
        without_variant,
        without_region,
        without_bedrock,
        with_dashes,
        with_family_first,
        without_effort,
        without_effort,
        |name| name.strip_suffix("-latest").map(str::to_owned),
        without_date,
    ];
    let mut found: Vec<String> = Vec::new();
    for step in steps {
        let next = step(found.last().map_or(name, String::as_str));
        found.extend(next);
    }
    found
}

/// `claude-3.7-sonnet:thinking`
fn without_variant(name: &str) -> Option<String> {
    VARIANTS.iter().find_map(|variant| name.strip_suffix(variant)).map(str::to_owned)
}

/// `us.anthropic.claude-…`
fn without_region(name: &str) -> Option<String> {
    let (region, rest) = name.split_once('.')?;
    (REGIONS.contains(&region) && rest.contains('.')).then(|| rest.to_owned())
}

/// `anthropic.claude-…-v1:0`
fn without_bedrock(name: &str) -> Option<String> {
    let rest = name.strip_prefix("anthropic.")?;
    let version = rest.rsplit_once("-v").filter(|(_, version)| is_version(version));
    Some(version.map_or(rest, |(model, _)| model).to_owned())
}

fn is_version(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_digit() || c == ':')
}

/// `claude-opus-4.6`, `claude-sonnet-4@20250514`
fn with_dashes(name: &str) -> Option<String> {
    let written = name.contains("claude") && name.contains(['.', '@']) && !name.contains('/');
    written.then(|| name.replace(['.', '@'], "-"))
}

/// `claude-4-5-sonnet`, as some agents order the words since version 4
fn with_family_first(name: &str) -> Option<String> {
    let version_first = name.strip_prefix("claude-")?;
    let family = ["opus", "sonnet", "haiku"].into_iter().find(|family| version_first.contains(family))?;
    let (version, rest) = version_first.split_once(family)?;
    let version = version.strip_suffix('-')?;
    let modern = version.split('-').next()?.parse::<u32>().is_ok_and(|major| major >= 4);
    modern.then(|| format!("claude-{family}-{version}{rest}"))
}

/// `gpt-5-codex-high`, `claude-opus-4-5-thinking`
fn without_effort(name: &str) -> Option<String> {
    let applies = WITH_EFFORT.iter().any(|family| name.starts_with(family));
    let effort = EFFORTS.iter().find(|effort| name.ends_with(*effort));
    effort.filter(|_| applies).and_then(|effort| name.strip_suffix(effort)).map(str::to_owned)
}

/// `-20250929`, `@20250929`, `-2025-09-29`
fn without_date(name: &str) -> Option<String> {
    let (rest, last) = name.rsplit_once(['-', '@'])?;
    if last.len() == 8 && is_number(last) {
        return last.starts_with("20").then(|| rest.to_owned());
    }
    let (rest, month) = rest.rsplit_once('-').filter(|_| last.len() == 2 && is_number(last))?;
    let (rest, year) = rest.rsplit_once('-')?;
    let is_date = year.len() == 4 && year.starts_with("20") && is_number(year) && month.len() == 2 && is_number(month);
    is_date.then(|| rest.to_owned())
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}
