"""Beginnings of providers' error messages, by meaning: patterns, matched from the first letter, in any case."""

from __future__ import annotations

BAD_KEY = (
    r"incorrect api key provided",
    r"invalid api.?key",
    r"invalid x-api-key",
    r"api key (?:not valid|not found|expired)",
    r"you didn't provide an api key",
    r"access denied due to invalid subscription key",
    r"invalid bearer token",
    r"your authentication token ",
    r"the security token included in the request is (?:invalid|expired)",
    r"unauthorized",
    r"oauth (?:access )?token (?:has|is) (?:been )?(?:expired|revoked)",
)
ACCOUNT_DISABLED = (
    (
        r"(?:this|your) (?:organization|account|workspace|project|service|api key)\b.{0,40}? (?:has|have) been "
        r"(?:disabled|deactivated|suspended|banned|denied access|terminated|blocked)"
    ),
    r"permission denied: consumer .{1,120}? has been suspended",
)
NOT_PAID = (
    r"your credit balance is too low",
    r"your account is not active",
    r"insufficient balance",
    r"insufficient account",
    r"this (?:api )?method requires billing",
    r"this model is only available (?:on|to) (?:the )?paid",
)
NOT_FROM_HERE = (
    r"user location is not supported",
    r"gemini api free tier is not available",
    r"country, region, or territory not supported",
    r"your ip is not authorized",
)
NO_SUCH_MODEL = (
    r"the (?:requested )?model:? .{1,200}? (?:does not exist|was not found|is not supported when using codex)",
    r"the '.{1,200}?' model (?:is not supported when using codex|requires a newer version of codex)",
    r"model: [\w.:/@]{1,60}-[\w.:/@-]{1,100}$",
    r"models/\S{1,200} is not found",
    r"publisher model ",
    r"resource not found$",
    r"the api deployment for this resource does not exist",
    r"your organization must be verified to use the model",
    r"you don't have access to the model",
    r"project .{1,100}? does not have access to model",
    r"no endpoints found for ",
    r"the provided model identifier is invalid",
    r"invocation of model id .{1,200}? isn.t supported",
)
# Ambiguous: the key may lack a permission altogether, or only for what this one request needs.
NOT_ALLOWED = (
    r"(?:you have |the api key has )?(?:insufficient|missing) (?:permissions?|scopes?|privileges)",
    r"request had insufficient authentication scopes",
    r"(?:oauth|access) token (?:does not meet scope|lacks|is missing|does not have)",
    r"(?:you|your|this|the|user:?|principal)\b[^.]{0,200}? (?:not (?:have|allowed|permitted|authorized)|lacks?) ",
    r"you (?:don't|do not|cannot|can't) (?:have (?:permission|access)|access)\b",
    r"permission '.{1,120}?' denied",
)
QUOTA_OF_A_DAY = (
    r"rate limit (?:reached|exceeded) .{0,250}?(?:per day|per month|\([RT]PD\))",
    r"too many (?:tokens|requests) per day",
    r"quota exceeded for .{0,250}?per.?day",
    r"(?:tokens|requests) per day limit exceeded",
)
TOO_FEW_CREDITS = (r"this request requires more credits",)
QUOTA = (
    r"you (?:have )?exceeded your current (?:quota|usage)",
    r"you have reached your specified (?:api|workspace api) usage",
    r"the usage limit (?:of .{1,40}? )?(?:has been|is) reached",
    r"you've (?:hit|reached) your (?:\S{1,20} )?(?:usage )?limit",
    r"claude ai usage limit reached",
    r"insufficient (?:credits|quota)",
    r"billing hard limit has been reached",
    r"you have (?:insufficient|no) (?:credits|quota)",
    r"key limit exceeded",
    r"you have exhausted your (?:daily|capacity)",
)
ACCOUNTS_RATE_LIMIT = (r"this request would exceed your account's rate limit",)
RATE_LIMIT = (
    r"rate.?limit",
    r"too many (?:requests|tokens)",
    r"requests to the .{1,200}? have exceeded",
    r"you are being rate limited",
    r"requests rate limit exceeded",
    r"your requests to .{1,200}? have exceeded",
    r"quota exceeded for",
    r"this request would exceed (?:the|your organization's) rate limit",
    r"resource (?:has been )?exhausted",
    r"number of (?:request|output|input|concurrent)",
)
OVERLOADED = (
    r"overloaded",
    (
        r"the (?:engine|model|server|service)(?: is)?(?: currently| temporarily)? "
        r"(?:overloaded|at capacity|unavailable|out of capacity)"
    ),
    r"that model is currently overloaded",
    r"this model is currently (?:overloaded|experiencing)",
    r"our servers are currently overloaded",
    r"slow down",
    r"service tier capacity exceeded",
    r"selected model is at capacity",
    r"no capacity available",
    r"(?:we are|we're) currently (?:processing|experiencing)",
)
LARGER_THAN_THE_LIMIT = (r"request too large for ",)
TOO_LONG = (
    r"prompt is too long",
    r"this model's maximum context length",
    r"(?:the )?input (?:is too long|token count|tokens exceed)",
    r"your input exceeds the context window",
    r"input length and `max_tokens` exceed",
)
CONTENT_REFUSED = (
    r"output blocked by content filtering",
    r"the response was (?:filtered|blocked)",
    r"your input was flagged",
    r"\S{1,80} requires moderation",
    r"your request was rejected as a result of our safety system",
)
# LiteLLM turns every error of OpenAI that contains the words "rate limit" into a rate limit, and these messages quote
# the user.
BAD_REQUEST = (
    r"invalid (?:'|\"|value|type|parameter|argument|prompt|schema|content|image|url|base64|json)",
    r"(?:unsupported|unknown|missing required|unrecognized) (?:parameter|value|request argument|argument)",
)
