"""Shapes that are no words: regular expressions (Hyperscan's subset), on folded lower-case text, each a concept."""

SHAPES = {
    "turn": (
        r"<\|(im_start|im_end|system|user|assistant|endoftext|start_header_id|eot_id|begin_of_text)\|>"
        r"|\[/?inst\]|<</?sys>>|<start_of_turn>|</?(system_prompt|system-prompt|instructions_override)>"
        r"|\[/?system\]|\{\{#system|(^|\n)#{2,4} ?(new instruction|system prompt|system message)s?:?[ \t]*(\n|$|:)"
        r"|(^|\n)#{2,4} ?(system|instruction): *(\n|$)"
    ),
    "heading": r"(^|\n)#{2,4} ?(system|instruction)s?:?[ \t]*(\n|$|:)",
    "turnend": (
        r"(-{3,}|={3,}|#{3,}|\*{3,}|<) ?(end of|begin|start of|end)[ _](the[ _])?(new[ _])?"
        r"(user|document|system|prompt|instructions?|context|data|untrusted|input|email|page"
        r"|article|conversation|search results)"
    ),
    "role": (
        r"(^|\n|\")(system|developer)( message| prompt| note| override| update| alert)?\"?"
        r"( ?:|\]:|\)) ?"
    ),
    "sysnote": (
        r"[\[\(<*!]{1,4} ?(system|admin|developer|ai|assistant|llm)[ -](note|message|override"
        r"|instructions?|notice|update|alert|directive|command|prompt)s?\b"
    ),
    "hidden": (
        r"<!--[^>]{0,200}(assistant|instruct|\bai\b|model|agent|ignore|system)|display: ?none"
        r"|font-size: ?[01](px|pt)?\b|visibility: ?hidden|color: ?(white|#fff(fff)?|transparent)\b"
        r"|opacity: ?0\b|aria-hidden=.{0,2}true"
    ),
    "url": r"https?://[a-z0-9\-._~:]{3,}|\bftp://[a-z0-9]{3,}",
    "mail": r"[a-z0-9._%+\-]{2,40}@[a-z0-9\-]{2,40}\.[a-z]{2,6}",
    "drop": (
        r"(pastebin\.com|webhook\.site|requestbin|ngrok\.(io|app|dev)|ngrok-free|pipedream\.net"
        r"|burpcollaborator|oastify\.com|interact\.sh|discord(app)?\.com/api/webhooks|api\.telegram\.org/bot"
        r"|hooks\.slack\.com/services|transfer\.sh|file\.io|beeceptor\.com|requestcatcher\.com"
        r"|dnslog\.|hookbin\.com|0x0\.st|oast\.(fun|live|pro|site|me)|trycloudflare\.com|serveo\.net"
        r"|localtunnel|loca\.lt)"
    ),
    "mdimage": (
        r"!\[[^\]\n]{0,120}\]\( ?<?https?://[^\s)]{1,300}[?&/=#][{<\[$%]{1,2}[a-z_' .\-]{3,60}"
        r"[}>\]%]"
    ),
    "mdimagequery": (
        r"!\[[^\]\n]{0,120}\]\( ?<?https?://[^\s)]{1,300}[?&]((secret|secrets|token|leak|exfil"
        r"|stolen|conversation|history|chat|prompt|password|pw|session|cookie|payload|dump"
        r"|b64|creds|apikey|api_key)=|(data|content|context|info|text|msg|messages|log|email)="
        r"[a-z][a-z0-9_\-+/%]{3,})"
    ),
    "mdimagelong": r"!\[[^\]\n]{0,120}\]\( ?<?https?://[^\s)?]{1,200}[?/=][a-z0-9+/_%\-]{48,}",
    "mdimageany": r"!\[[^\]\n]{0,120}\]\( ?<?https?://",
    "htmlimage": (
        r"<(img|iframe|script|link|object|embed)[^>]{0,120}(src|href|data)=.{0,3}https?://"
        r"[^\s>]{1,200}[?&][a-z0-9_\-]{1,24}="
    ),
    "linkslot": (
        r"""https?://[^\s)\"']{3,200}[?&/=#]([a-z0-9_\-]{1,24}=)?(\{[a-z_ .\-]{2,60}\}|\$\{?"""
        r"[a-z_]{3,}|<[a-z_ .\-]{3,60}>|\[[a-z_ .\-]{3,60}\]|\{\{)"
    ),
    "curl": (
        r"\b(curl|wget|invoke-webrequest|iwr|httpie|nc|ncat|netcat)\b[^\n]{0,160}(\$\((cat"
        r"|env|printenv|whoami|id|hostname|base64|tar|ls|history|<)|`(cat|env|printenv|whoami"
        r"|id|hostname|base64|tar|history)|@~|@/|@\.env|/etc/(passwd|shadow)|\.env\b|id_rsa"
        r"|\.ssh/|\.aws/|\bshadow\b|bash_history)"
    ),
    "pipecurl": (
        r"(\b(env|printenv|history|mysqldump|pg_dump|set)\b|~/|/etc/|\.env\b|id_rsa|\.ssh|\.aws"
        r"|secret|credential|passwd|password|shadow|/home/|documents)[^\n|]{0,80}\|[^\n]{0,60}\b"
        r"(curl|wget|nc|ncat|netcat|openssl s_client|telnet|socat)\b"
    ),
    "dns": (
        r"\b(nslookup|dig|host|ping|resolve-dnsname)\b[^\n]{0,80}(\$\(|`)[^\n]{1,80}[)`]?\."
        r"[a-z0-9\-]{2,40}\.[a-z]{2,6}"
    ),
    "codepost": (
        r"(requests\.(post|get|put)|fetch|axios\.(post|get)|urllib\.request|urlopen|xmlhttprequest"
        r"|sendbeacon|http\.client|new image)[^\n]{0,120}((dict|str|dumps|repr|urlencode|quote)\( ?os\.environ ?\)"
        r"|json=os\.environ|data=os\.environ|\(process\.env\)|document\.cookie|localstorage\)"
        r"|/etc/passwd|id_rsa|\.ssh/|\.aws/)"
    ),
    "sensitivefile": (
        r"/etc/(passwd|shadow)|~/\.(ssh|aws|netrc|npmrc|docker)|\bid_(rsa|ed25519|ecdsa)\b"
        r"|\.env\b|\.aws/credentials|\.git-credentials|\.kube/config|wp-config\.php|\bsam hive\b"
        r"|login\.keychain|\.pgpass"
    ),
    "mark": (
        r"classification ?: ?(restricted|confidential|secret|internal)|(^|\n|\[|\(|\*|#|=|-"
        r"|/|: ?)[ *]{0,4}(strictly |company |highly |top |most )?(confidential|secret|internal use only"
        r"|internal only|restricted|proprietary|vertraulich|confidentiel|confidencial|riservato"
        r"|vertrouwelijk|poufne|конфиденциально|confidenziale)[ *]{0,4}(\n|$|\]|\)|\*|=|#|- "
        r"|/|:|\.\n|//| - )"
    ),
    "imagehost": r"shields\.io|badge|codecov|travis-ci|/avatar|gravatar|githubusercontent|\.svg\?",
    "pem": r"-----begin [a-z0-9 ]{0,20}private key-----",
    "systag": r"</?system>",
    "mdimagetext": (
        r"!\[[^\]\n]{0,120}\]\( ?<?https?://[^\s)]{1,300}[?&][a-z0-9_\-]{1,24}=[^\s)]{0,80}"
        r"(%20|\+)[^\s)]{1,80}(%20|\+)[^\s)]{1,80}(%20|\+)"
    ),
}
