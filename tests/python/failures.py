"""Why requests to a model failed: by what the agent calls it, the status of the answer, and its words."""
import re

LIMITS = re.compile(r"(usage|session|weekly|monthly|daily|spend(ing)?|budget|plan)[ _]limit|credit balance|quota|no requests left"
                    r"|out of (credits|extra usage)|billing|payment required")
WORDS = (
    ("rate_limit", r"rate[ _]?limit|too[ _]many[ _]requests|\b429\b|throttl"),
    ("overloaded", r"overloaded|\b529\b|capacity"),
    ("context_window", r"prompt is too long|context[ _](window|length)|maximum context|token limit|too many tokens"),
    ("auth", r"auth(?!or)|api[ _]?key|\blog ?in\b|unauthori[sz]ed|\b401\b|\b403\b|permission_error|forbidden"),
    ("network", r"connection|network|timed?[ _-]?out|socket|stream (was )?(disconnected|closed)|econn|enotfound|fetch failed|dns|terminated"),
    ("server", r"internal[ _]?(server[ _]?)?error|server[ _]error|bad gateway|service unavailable|\b50[0-4]\b"),
    ("invalid_request", r"invalid[ _]request|bad[ _]request|\b400\b|\b404\b|\b422\b|not[ _]found"),
)
STATUSES = {401: "auth", 402: "usage_limit", 403: "auth", 408: "network", 429: "rate_limit", 529: "overloaded"}


def of_status(status):
    if not isinstance(status, int) or status < 400:
        return None
    return STATUSES.get(status) or ("invalid_request" if status < 500 else "server")


def reason(words, name=None, status=None):
    """The type of an error, by its words, its name and its status."""
    words, name = (words or "").lower(), str(name or "").lower()
    if LIMITS.search(name) or LIMITS.search(words):
        return "usage_limit"
    by_name, by_words = (next((kind for kind, form in WORDS if re.search(form, text)), None) for text in (name, words))
    by_status = of_status(status)
    if by_status in (None, "invalid_request", "server"):  # words say more
        return by_name or (by_words if by_words in ("overloaded", "context_window") else None) or by_status or by_words or "other"
    return by_status
