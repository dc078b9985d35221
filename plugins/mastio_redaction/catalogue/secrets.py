"""Keys, tokens and passwords. Forms are those that the issuers document or hand out. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from mastio_redaction.catalogue.vocabulary import spoken
from mastio_redaction.checks.digits import (
    is_authorization,
    is_jwt,
    is_key,
    is_mixed_password,
    is_password,
    is_random,
    is_strong_password,
    is_user_name,
    is_very_random,
)
from mastio_redaction.rule import Check, Rule, Type, after, shaped

_END = r"(?![A-Za-z0-9_-])"
_START = r"(?<![A-Za-z0-9_])"


def token(prefix: str, body: str, least: int, most: int, score: float = 0.98) -> Rule:
    """`prefix` and at least `least` characters of `body`. The automaton rings after the least, once."""
    size = f"{{{least}}}" if least == most else f"{{{least},{most}}}"
    return shaped(
        rf"{_START}{prefix}{body}{size}{_END}",
        score,
        trigger=rf"{prefix}{body}{{{min(least, 12)}}}",
        behind=64,
        ahead=most + 1,
    )


_B64 = "[A-Za-z0-9+/]"
_URL = "[A-Za-z0-9_-]"
_ALNUM = "[A-Za-z0-9]"
_QUOTED = r"[^\s\"'`,;<>(){}\[\]\\\x9f]"

_PASSWORD_GAP = r"['\"]?\s{0,2}(?:[:=]|=>|\b(?:is|ist|war|was|est|es|era|e|to|jest)\b)\s{0,2}[:=]?\s?['\"`]?"

_PASSWORD_VALUE = r"(?:[^\s\"'`,;<>(){}\[\]\\\x9f&]|&(?!\w{1,30}=))"
"""In a query, the next name ends it."""

_NO_CALL = r"(?![A-Za-z_][\w.]{0,120}\()"
"""Not a call of a program: `password = base64.b64encode(…)`."""


def _compound(words: str, value: str, check: Check, gap: str) -> Rule:
    """As `after`, where the words may be the end of a longer one: `Initialpasswort`."""
    return replace(after(words, value, 0.8, check, gap=gap), trigger=rf"(?i)(?:{words})\b")


TYPES = (
    Type(
        "AWS_ACCESS_KEY", "credential", "AWS access key ID, secret access key and session token",
        (
            shaped(r"\b(?:AKIA|ASIA|AIDA|AROA|ABIA|ACCA)[A-Z2-7]{16}\b", 0.98, behind=24),
            after(r"aws.{0,20}(?:secret|session).{0,20}(?:key|token)", rf"{_B64}{{40,2000}}={{0,2}}(?!{_B64})", 0.97,
                  is_random, ahead=2100),
            Rule(r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b", re.compile(rf"[\s\"',:;/|-]{{1,12}}(?P<v>{_B64}{{40}})(?!{_B64}|=)"), 0.97, is_very_random, ahead=60),
            after(r"secret access key", rf"{_B64}{{40}}(?!{_B64}|=)", 0.97, is_random),
        ),
    ),
    Type("AZURE_KEY", "credential", "Azure storage key, shared access signature and application secret", (
        shaped(r"(?i:AccountKey|SharedAccessKey)=(?P<v>[A-Za-z0-9+/]{40,88}={0,2})", 0.98,
               trigger=r"(?i)(?:AccountKey|SharedAccessKey)=", behind=20, ahead=100),
        shaped(r"(?<=[?&;])sig=(?P<v>[A-Za-z0-9%+/=_-]{30,160})", 0.95, trigger=r"[?&;]sig=[A-Za-z0-9%+/_-]{12}",
               behind=20, ahead=170),
        shaped(r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])", 0.97,
               trigger=r"[78]Q~[A-Za-z0-9_~.-]{12}", behind=20, ahead=40),
    )),
    Type("GCP_KEY", "credential", "Google API key, OAuth token and client secret", (
        token("AIza", _URL, 35, 35),
        token(r"ya29\.", _URL, 20, 1000),
        token("GOCSPX-", _URL, 28, 28),
    )),
    Type("GITHUB_TOKEN", "credential", "GitHub token", (
        token("gh[pousr]_", _ALNUM, 36, 255),
        token("github_pat_", "[A-Za-z0-9_]", 36, 255),
    )),
    Type("GITLAB_TOKEN", "credential", "GitLab token", (
        token("gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-", _URL, 20, 300),
    )),
    Type("SLACK_TOKEN", "credential", "Slack token and webhook", (
        token("xox[abeoprs]-", "[A-Za-z0-9-]", 10, 250),
        token("xapp-", "[A-Za-z0-9-]", 20, 250),
        shaped(r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<v>[A-Za-z0-9+/]{20,120})", 0.98,
               trigger=r"hooks\.slack\.com/(?:services|workflows|triggers)/", behind=40, ahead=130),
    )),
    Type("STRIPE_KEY", "credential", "Stripe key and webhook secret", (
        token("(?:sk|rk|pk)_(?:live|test)_", _ALNUM, 16, 250),
        token("whsec_", "[A-Za-z0-9+/]", 24, 100),
    )),
    Type("OPENAI_KEY", "credential", "OpenAI key", (
        token("sk-(?:proj|svcacct|admin|None)-", _URL, 20, 250),
        shaped(rf"{_START}sk-[A-Za-z0-9]{{32,64}}{_END}", 0.95, is_random, trigger=r"sk-[A-Za-z0-9]{32}", behind=40, ahead=66),
    )),
    Type("ANTHROPIC_KEY", "credential", "Anthropic key", (token("sk-ant-", _URL, 20, 250, 0.99),)),
    Type("HUGGINGFACE_TOKEN", "credential", "Hugging Face token", (token("hf_", _ALNUM, 30, 60),)),
    Type("NPM_TOKEN", "credential", "npm token", (token("npm_", _ALNUM, 36, 36),)),
    Type("PYPI_TOKEN", "credential", "PyPI token", (token("pypi-", _URL, 50, 500),)),
    Type("TWILIO_KEY", "credential", "Twilio account and API key", (
        shaped(r"\b(?:SK|AC)[0-9a-f]{32}\b", 0.95, is_random, behind=40),
    )),
    Type("SENDGRID_KEY", "credential", "SendGrid key", (
        shaped(rf"{_START}SG\.[A-Za-z0-9_-]{{16,32}}\.[A-Za-z0-9_-]{{32,64}}{_END}", 0.98,
               trigger=r"SG\.[A-Za-z0-9_-]{16}", behind=24, ahead=120),
    )),
    Type("MAILGUN_KEY", "credential", "Mailgun and Mailchimp key", (
        token("key-", "[0-9a-f]", 32, 32, 0.95),
        shaped(r"\b[0-9a-f]{32}-us\d{1,2}\b", 0.95, behind=40),
    )),
    Type("SHOPIFY_TOKEN", "credential", "Shopify token", (token("shp(?:at|ca|pa|ss)_", "[0-9a-fA-F]", 32, 32),)),
    Type("DIGITALOCEAN_TOKEN", "credential", "DigitalOcean token", (token("do[opr]_v1_", "[0-9a-f]", 64, 64),)),
    Type("DATABRICKS_TOKEN", "credential", "Databricks token", (token("dapi", "[0-9a-f]", 32, 34),)),
    Type("VAULT_TOKEN", "credential", "HashiCorp Vault and Terraform token", (
        token(r"hv[sbr]\.", _URL, 24, 300),
        shaped(rf"{_START}[A-Za-z0-9]{{14}}\.atlasv1\.[A-Za-z0-9_-]{{60,80}}{_END}", 0.98,
               trigger=r"\.atlasv1\.[A-Za-z0-9_-]{12}", behind=40, ahead=100),
    )),
    Type("DOCKER_TOKEN", "credential", "Docker Hub token", (token("dckr_(?:pat|oat)_", _URL, 27, 40),)),
    Type("TELEGRAM_TOKEN", "credential", "Telegram bot token", (
        shaped(rf"(?<![0-9A-Za-z])\d{{8,10}}:AA[A-Za-z0-9_-]{{33}}{_END}", 0.97, trigger=r"\d{8}:AA[A-Za-z0-9_-]{12}",
               behind=32, ahead=30),
        shaped(rf"(?<![0-9A-Za-z])\d{{9,10}}:AA[A-Za-z0-9_-]{{33}}{_END}", 0.97, trigger=r"\d{9}:AA[A-Za-z0-9_-]{12}",
               behind=32, ahead=30),
    )),
    Type("MASTIO_KEY", "credential", "This appliance's API key, admin token and enrolment token", (
        token("mastio_(?:sk|admin|enroll)_", _URL, 16, 200, 0.99),
    )),
    Type("JWT", "credential", "JSON Web Token", (
        shaped(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4096}\.(?:[A-Za-z0-9_-]{2,16384}(?:\.[A-Za-z0-9_-]{0,8192})*)",
               0.97, is_jwt, trigger=r"eyJ[A-Za-z0-9_-]{12}", behind=16, ahead=40_000),
    )),
    Type("PRIVATE_KEY", "credential", "Private key (PEM, OpenSSH, PGP, PuTTY, age)", (
        shaped(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
               0.99, trigger=r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", behind=80, ahead=1 << 30),
        token("AGE-SECRET-KEY-1", "[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]", 58, 58, 0.99),
    )),
    Type("SSH_KEY", "credential", "SSH public key", (
        shaped(r"\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-nistp\d{3}) AAAA[A-Za-z0-9+/]{40,1000}={0,2}", 0.9,
               trigger=r"\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-nistp\d{3}) AAAA", behind=32, ahead=1002),
    )),
    Type("CONNECTION_STRING", "credential", "Connection string with a password", (
        shaped(r"\b(?:[a-z][a-z0-9+.-]{1,24})://[^\s/:@\"'<>\x9f]{0,64}:[^\s/@\"'<>\x9f]{1,128}@[^\s\"'<>\x9f,;)]{1,200}", 0.96,
               trigger=r"[a-z0-9]://[^\s/:@\"'<>\x9f]{0,64}:[^\s/@\"'<>\x9f]{1,128}@", behind=230, ahead=201),
    )),
    Type("HTTP_AUTHORIZATION", "credential", "Bearer token and basic credentials", (
        shaped(r"\b(?i:bearer|basic|token)\s{1,2}(?P<v>[A-Za-z0-9+/._~-]{16,4096}={0,2})", 0.9, is_authorization,
               trigger=r"(?i)\b(?:bearer|basic|token)\s{1,2}[A-Za-z0-9+/._~-]{12}", behind=32, ahead=4100),
    )),
    Type("PASSWORD", "credential", "Password, PIN or passphrase, by the words before it", (
        after(r"(?:password|passwort|kennwort|wachtwoord|passwd|passphrase|mot de passe|contrasena|parola d.ordine|palavra-passe|senha|"
              r"pwd|passcode|has.o|clave de acceso|parola|mdp|" + spoken("PASSWORD") + r")(?:s|_?(?:is|for [a-z ]{1,24} is))?", rf"{_NO_CALL}{_PASSWORD_VALUE}{{4,128}}(?<![.?])", 0.85,
              is_password, gap=_PASSWORD_GAP),
        after(r"(?:password|passwort|kennwort|wachtwoord|passwd|passphrase|mot de passe|contrasena|palavra-passe|senha|pwd|mdp|has.o)", rf"{_QUOTED}{{8,128}}(?<![.?])", 0.8,
              is_strong_password, gap=r" ['\"`]?"),
        after(r"(?:pass|(?:root|db|user|admin|wifi)?pw|psw|psk|clave)", rf"{_NO_CALL}{_PASSWORD_VALUE}{{6,128}}(?<![.?])", 0.8, is_mixed_password, gap=r"['\"]?\s{0,2}[:=]>?\s{0,2}['\"`]?"),
        _compound(r"passwort|kennwort|wachtwoord", rf"{_NO_CALL}{_PASSWORD_VALUE}{{4,128}}(?<![.?])", is_password, _PASSWORD_GAP),
        _compound(r"passwort|kennwort|wachtwoord", rf"{_QUOTED}{{8,128}}(?<![.?])", is_strong_password, r" ['\"`]?"),
        shaped(rf"\s(?:-u|--user)[ =]['\"]?[A-Za-z0-9._@-]{{1,64}}:(?P<v>{_PASSWORD_VALUE}{{4,128}})", 0.85, is_mixed_password,
               trigger=r"\s(?:-u|--user)[ =]['\"]?[A-Za-z0-9._@-]{1,64}:", behind=80, ahead=130),
        after(r"(?:pin ?code|code pin|geheimzahl|pinnummer)", r"\d{4,8}(?!\d|-\d)", 0.8, gap=r"[ ]"),
        after(r"(?:pin|pin code|geheimzahl)", r"\d{4,8}(?!\d|-\d)", 0.8,
              gap=r"['\"]?\s{0,2}(?:code)?\s?(?:[:=]|\bis\b|\bist\b|\best\b|\bes\b)\s{0,2}['\"]?"),
    )),
    Type("SECRET", "credential", "Secret of an unknown kind: named as one, and random", (
        after(r"(?:secret|token|bearer|api[_ -]?key|apikey|access[_ -]?key|auth[_ -]?key|private[_ -]?key|client[_ -]?secret|"
              r"encryption[_ -]?key|signing[_ -]?key|webhook[_ -]?key|credentials?|"
              r"api-?schlussel|cle api|clave api|chiave api|chave api|api-?sleutel|klucz api|" + spoken("SECRET") + ")", rf"{_NO_CALL}[A-Za-z0-9+/_.~=-]{{16,512}}(?<![.])", 0.8,
              is_random, gap=r"(?:[_ -]?(?:key|value|id|string))?['\"]?\s{0,3}(?:[:=]|=>|:=|\bis\b|\bist\b|\best\b|\bes\b|,)\s{0,3}['\"`]?",
              ahead=540),
        after(r"(?:secret|token|api key|access key|api-?schlussel|cle (?:d.)?api|clave (?:de )?api|chiave api|chave (?:de )?api|api-?sleutel)",
              r"[A-Za-z0-9+/_.~=-]{20,512}(?<![.])", 0.8, is_key,
              gap=r"['\"]?(?:\s{0,3}(?:[:=(]|=>|\b(?:is|ist|est|es|e|jest|to)\b|lautet)\s{0,3}|[ \t])['\"`]?", ahead=540),
    )),
    Type("USERNAME", "credential", "User name, by the words before it", (
        after(r"(?:user[_ -]?name|user[_ -]?id|login|benutzer(?:name)?|utilisateur|nom d.utilisateur|usuario|nome utente|gebruikersnaam|utilizador|nazwa uzytkownika|" + spoken("USERNAME") + ")",
              r"[A-Za-z0-9](?:[A-Za-z0-9_@+-]|[.](?=[A-Za-z0-9])){2,63}+(?!['\"]?[\[(]|[/\\])", 0.7, is_user_name, gap=r"['\"]?\s{0,2}(?:[:=]|\bis\b|\bist\b|\best\b|\bes\b)\s{0,2}['\"`]?"),
        after(r"(?:user name|user ?id|login|benutzername|anmeldename|nom d.utilisateur|identifiant|nombre de usuario|usuario|nome utente|utente|gebruikersnaam|nome de usuario|utilizador)",
              r"(?:[a-z]{1,20}[._][a-z]{2,20}\d{1,4}|[a-z]{4,20}(?<!int)\d{2,4})(?![\w.(\[/-])", 0.7, is_user_name, gap=r"(?: (?:is|was|ist|war|lautet|est|es|e|era|jest))? ['\"`]?"),
    )),
)  # fmt: skip
