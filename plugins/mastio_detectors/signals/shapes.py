"""Shapes that are no words: regular expressions (Hyperscan's subset), on folded lower-case text, each a concept."""

SHAPES = {
    "turn": (
        r"<\|(im_start|im_end|system|user|assistant|endoftext|start_header_id|eot_id|begin_of_text)\|>|\[/?inst\]"
        r"|<</?sys>>|<start_of_turn>|</?(system|system_prompt|system-prompt|instructions_override)>|\[/?system\]"
        r"|\{\{#system|(^|\n)#{2,4} ?(system|instruction|new instruction|system prompt|system message)s?:?"
        r"[ \t]*(\n|$|:)"
    ),
    "turnend": (
        r"(-{3,}|={3,}|#{3,}|\*{3,}|<) ?(end of|begin|start of|end)[ _](the[ _])?(new[ _])?(user|document|system"
        r"|prompt|instructions?|context|data|untrusted|input|email|page|article|conversation|search results)"
    ),
    "role": r"(^|\n|\")(system|developer)( message| prompt| note| override| update| alert)?\"?( ?:|\]:|\)) ?",
    "sysnote": (
        r"[\[\(<*!]{1,4} ?(system|admin|developer|ai|assistant|llm)[ -](note|message|override|instructions?"
        r"|notice|update|alert|directive|command|prompt)s?\b"
    ),
    "hidden": (
        r"<!--[^>]{0,200}(assistant|instruct|\bai\b|model|agent|ignore|system)|display: ?none|font-size: ?"
        r"[01](px|pt)?\b|visibility: ?hidden|color: ?(white|#fff(fff)?|transparent)\b|opacity: ?0\b|aria-hidden=.{0,2}true"  # noqa: E501
    ),
    "url": r"https?://[a-z0-9\-._~:]{3,}|\bftp://[a-z0-9]{3,}",
    "mail": r"[a-z0-9._%+\-]{2,40}@[a-z0-9\-]{2,40}\.[a-z]{2,6}",
    "drop": (
        r"(pastebin\.com|webhook\.site|requestbin|ngrok\.(io|app|dev)|ngrok-free|pipedream\.net|burpcollaborator"
        r"|oastify\.com|interact\.sh|discord(app)?\.com/api/webhooks|api\.telegram\.org/bot|hooks\.slack\.com/services"
        r"|transfer\.sh|file\.io|beeceptor\.com|requestcatcher\.com|dnslog\.|hookbin\.com|0x0\.st|oast\.(fun"
        r"|live|pro|site|me)|trycloudflare\.com|serveo\.net|localtunnel|loca\.lt)"
    ),
    "mdimage": r"!\[[^\]\n]{0,120}\]\( ?<?https?://[^\s)]{1,300}[?&][a-z0-9_\-]{1,24}=[^\s)]{0,12}[{<\[$%]",
    "mdimagequery": (
        r"!\[[^\]\n]{0,120}\]\( ?<?https?://[^\s)]{1,300}[?&](d|q|data|c|ctx|content|secret|s|t|token|key|leak"
        r"|exfil|log|msg|m|p|payload|history|conversation|info|text|chat|prompt|user|email|password|pw|session"
        r"|cookie|x|b64|stolen|dump|body|note|v|z|u)="
    ),
    "mdimagelong": r"!\[[^\]\n]{0,120}\]\( ?<?https?://[^\s)?]{1,200}[?/=][a-z0-9+/_%\-]{48,}",
    "mdimageany": r"!\[[^\]\n]{0,120}\]\( ?<?https?://",
    "htmlimage": (
        r"<(img|iframe|script|link|object|embed)[^>]{0,120}(src|href|data)=.{0,3}https?://[^\s>]{1,200}[?&]"
        r"[a-z0-9_\-]{1,24}="
    ),
    "linkslot": (
        r"""https?://[^\s)\"']{3,200}[?&/=#]([a-z0-9_\-]{1,24}=)?(\{[a-z_ .\-]{2,60}\}|\$\{?[a-z_]{3,}|<[a-z_ .\-]{3,60}>"""  # noqa: E501
        r"|\[[a-z_ .\-]{3,60}\]|\{\{)"
    ),
    "curl": (
        r"\b(curl|wget|invoke-webrequest|iwr|http post|httpie|nc|ncat|netcat)\b[^\n]{0,160}(-d|--data(-binary"
        r"|-raw|-urlencode)?|-f|--form|--post-data|--post-file|-t|--upload-file|-body|-infile|\d{2,5} ?<)[ =]?"
        r"[^\n]{0,80}(\$\(|`|@|\$[a-z_]{3,}|/etc/|\.env|id_rsa|\.ssh|\.aws|passwd|secret|token|shadow|history)"
    ),
    "pipecurl": (
        r"(cat|env|printenv|base64|tar|history|type|grep|gzip|xxd|find|zip|mysqldump|pg_dump|get-content)\b"
        r"[^\n]{0,120}\| ?[^\n]{0,60}\b(curl|wget|nc|ncat|netcat|openssl s_client|ssh|telnet|socat)\b"
    ),
    "dns": (
        r"\b(nslookup|dig|host|ping|resolve-dnsname)\b[^\n]{0,80}(\$\(|`|\$\{|\{|<)[^\n]{1,80}[})`>]?\.[a-z0-9\-]{2,40}\."
        r"[a-z]{2,6}"
    ),
    "codepost": (
        r"(requests\.(post|get|put)|fetch|axios\.(post|get)|urllib\.request|urlopen|xmlhttprequest|sendbeacon"
        r"|http\.client|got\.post|net\.http|file_get_contents)[^\n]{0,120}(os\.environ|process\.env|document\.cookie"
        r"|localstorage|open\(|read\(\)|getenv|password|secret|credential|\.ssh|id_rsa)"
    ),
    "sensitivefile": (
        r"/etc/(passwd|shadow)|~/\.(ssh|aws|netrc|npmrc|docker)|\bid_(rsa|ed25519|ecdsa)\b|\.env\b|\.aws/credentials"
        r"|\.git-credentials|\.kube/config|wp-config\.php|\bsam hive\b|login\.keychain|\.pgpass"
    ),
    "mark": (
        r"classification ?: ?(restricted|confidential|secret|internal)|"
        r"(^|\n|\[|\(|\*|#|=|-|/|: ?)[ *]{0,4}(strictly |company |highly |top |most )?(confidential|secret"
        r"|internal use only|internal only|restricted|proprietary|vertraulich|confidentiel|confidencial|riservato"
        r"|vertrouwelijk|poufne|конфиденциально|confidenziale)[ *]{0,4}(\n|$|\]|\)|\*|=|#|- |/|:|\.\n|//| - )"
    ),
    "imagehost": r"shields\.io|badge|codecov|travis-ci|/avatar|gravatar|githubusercontent|\.svg\?",
    "pem": r"-----begin [a-z0-9 ]{0,20}private key-----",
}
