//! Keys of model providers and of the tools around them.

use super::super::rule::{Edge, Rule};
use super::{ended, is_token};

pub(super) static RULES: &[Rule] = &[
    Rule::new("anthropic-api-key", &["sk-ant-"], r"sk-ant-[a-z]{2,10}[0-9]{0,3}-[A-Za-z0-9_-]{24,300}")
        .matches(&["sk-ant-api03-{w93}AA", "sk-ant-oat01-{w93}AA", "sk-ant-admin01-{w93}AA", "sk-ant-ort01-{w93}AA"])
        .misses(&["sk-ant-api03-xxxxxxxxxxxxxxxxxxxxxxxxxxxx", "sk-ant-...", "a task-ant-colony"]),
    Rule::new(
        "openai-api-key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-"],
        r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,300}",
    )
    .matches(&["sk-proj-{w74}T3BlbkFJ{w74}", "sk-svcacct-{w58}", "sk-admin-{w58}T3BlbkFJ{w58}"])
    .misses(&["sk-proj-your-key-goes-in-here-please", "sk-proj-", "disk-project"]),
    Rule::new(
        "openai-api-key",
        &["T3BlbkFJ"],
        r"[A-Za-z0-9_-]*?(sk-[A-Za-z0-9_-]{8,150}T3BlbkFJ[A-Za-z0-9_-]{16,150})",
    )
    .after_run_of(is_token)
    .matches(&["sk-{a20}T3BlbkFJ{a20}", "OPENAI_API_KEY=sk-None-{a20}T3BlbkFJ{a20}"])
    .misses(&["T3BlbkFJ", "the middle of a key is T3BlbkFJ"]),
    Rule::new("openrouter-api-key", &["sk-or-v1-"], r"sk-or-v1-[a-f0-9]{48,80}")
        .matches(&["sk-or-v1-{h64}"])
        .misses(&["sk-or-v1-...", "sk-or-v1-<your key>"]),
    Rule::new("gcp-api-key", &["AIza"], r"AIza[A-Za-z0-9_-]{35}")
        .entropy(3.0)
        .matches(&["AIza{w35}", "https://maps.example.com/js?key=AIza{w35}&v=3"])
        .misses(&["AIzaSyXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX", "AIzawa"]),
    Rule::new("huggingface-token", &["hf_"], ended!(r"hf_[A-Za-z]{30,44}"))
        .entropy(3.0)
        .matches(&["hf_{A34}", "HF_TOKEN=hf_{A34}"])
        .misses(&["hf_hub_download(repo)", "hf_transfer", "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    Rule::new("huggingface-token", &["api_org_"], r"api_org_[A-Za-z]{30,44}")
        .matches(&["api_org_{A34}"])
        .misses(&["api_org_members"]),
    Rule::new("perplexity-api-key", &["pplx-"], r"pplx-[A-Za-z0-9]{40,80}")
        .matches(&["pplx-{a48}"])
        .misses(&["pplx-7b-online", "pplx-api"]),
    Rule::new("groq-api-key", &["gsk_"], r"gsk_[A-Za-z0-9]{40,80}")
        .matches(&["gsk_{a52}"])
        .misses(&["gsk_texture_new()", "gsk_render_node_get_node_type"]),
    Rule::new("replicate-api-token", &["r8_"], r"r8_[A-Za-z0-9]{37,44}")
        .edge(Edge::Token)
        .entropy(3.0)
        .matches(&["r8_{a37}", "KEY_r8_{a37}"])
        .misses(&["r8_unorm", "for8_times", "{w20}-r8_{a40}"]),
    Rule::new("xai-api-key", &["xai-"], r"xai-[A-Za-z0-9]{60,100}").matches(&["xai-{a80}"]).misses(&["xai-org/grok-1"]),
    Rule::new("langsmith-api-key", &["lsv2_"], r"lsv2_(?:pt|sk|ls)_[a-f0-9]{32}_[a-f0-9]{10}")
        .matches(&["lsv2_pt_{h32}_{h10}", "lsv2_sk_{h32}_{h10}"])
        .misses(&["lsv2_pt_your_key"]),
    Rule::new("langfuse-secret-key", &["sk-lf-"], r"sk-lf-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}")
        .matches(&["sk-lf-{h8}-{h4}-{h4}-{h4}-{h12}"])
        .misses(&["sk-lf-..."]),
    Rule::new("nvidia-api-key", &["nvapi-"], r"nvapi-[A-Za-z0-9_-]{50,100}")
        .matches(&["nvapi-{w64}"])
        .misses(&["nvapi-sdk"]),
    Rule::new("cerebras-api-key", &["csk-"], r"csk-[a-z0-9]{40,64}").matches(&["csk-{l48}"]).misses(&["csk-tools"]),
    Rule::new("together-api-key", &["tgp_v1_"], r"tgp_v1_[A-Za-z0-9_-]{40,64}")
        .matches(&["tgp_v1_{w43}"])
        .misses(&["tgp_v1_"]),
    Rule::new("tavily-api-key", &["tvly-"], r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{28,60}")
        .matches(&["tvly-{a32}", "tvly-dev-{a32}"])
        .misses(&["tvly-YOUR_API_KEY"]),
    Rule::new("pinecone-api-key", &["pcsk_"], r"pcsk_[A-Za-z0-9_]{50,90}")
        .matches(&["pcsk_{a69}"])
        .misses(&["pcsk_index"]),
    Rule::new("jina-api-key", &["jina_"], r"jina_[a-f0-9]{32}[A-Za-z0-9_-]{10,40}")
        .matches(&["jina_{h32}{a28}"])
        .misses(&["jina_embeddings_v3"]),
    Rule::new("e2b-api-key", &["e2b_"], r"e2b_[a-f0-9]{40}").matches(&["e2b_{h40}"]).misses(&["e2b_code_interpreter"]),
    Rule::new("context7-api-key", &["ctx7sk-"], r"ctx7sk-[a-f0-9-]{32,40}")
        .matches(&["ctx7sk-{h8}-{h4}-{h4}-{h4}-{h12}"])
        .misses(&["ctx7sk-..."]),
];
