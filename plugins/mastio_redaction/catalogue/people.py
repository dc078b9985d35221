"""People: who they are called, where they live, how they are reached, when they were born. Pure."""

from __future__ import annotations

import re
from itertools import groupby

from mastio_redaction.catalogue.names import AMBIGUOUS, GIVEN, PARTICLES, STOP, SURNAMES
from mastio_redaction.catalogue.vocabulary import spoken
from mastio_redaction.checks.digits import is_birth_date, is_mail_address
from mastio_redaction.checks.phones import is_any_phone, is_phone
from mastio_redaction.expressions import trie
from mastio_redaction.rule import Type, after, shaped

_WORD = r"[A-Z][A-Za-z\xdf]*(?:['-][A-Z]?[a-z\xdf]+)*"
_PARTICLE = r"(?:de la|de los|van der|van den|van de|von der|de|da|do|dos|das|del|della|di|van|von|du|la|le|zu|bin|al)"
_NAME = rf"{_WORD}(?: [A-Z]\.| {_PARTICLE} {_WORD}| {_WORD}){{0,3}}"
_TITLE = (
    r"(?:mr|mrs|ms|miss|dr|prof|professor|sir|dame|herr|herrn|frau|monsieur|madame|mme|mlle|senor|senora|sr|sra|srta|don|dona|"
    r"signor|signora|sig|dott|dottor|dottoressa|senhor|senhora|meneer|mevrouw|dhr|mevr)"
)
_CALLED = (
    r"(?:my name is|name is|i am called|signed by|full name|first name|last name|surname|customer name|patient name|"
    r"employee name|contact name|cardholder|card holder|account holder|beneficiary|ich heisse|mein name ist|nachname|vorname|"
    r"je m'appelle|mon nom est|prenom|me llamo|mi nombre es|apellidos|mi chiamo|il mio nome e|cognome|chamo-me|meu nome e|"
    r"me chamo|sobrenome|ik heet|mijn naam is|achternaam)"
)
_NAMED = r"(?:name|nombre|nome|nom|naam)"
"""Programs and files have such names too."""


def _title(word: str) -> str:
    return word if word[1:].islower() else "-".join(part.capitalize() for part in word.split("-"))


def is_given(word: str) -> bool:
    return _title(word) in GIVEN or _title(word.split("-")[0]) in GIVEN


_TOKEN = re.compile(r"\S+")


def find_name(text: str) -> tuple[int, int] | None:
    """The name in a run of capitalised words: a given name, and what follows it that may be one."""
    words = [(match.start(), match.end(), match[0]) for match in _TOKEN.finditer(text)]
    for first, (start, _, word) in enumerate(words):
        if not is_given(word):
            continue
        end, sure, count = start, False, 0
        for _, stop, other in words[first + 1 : first + 5]:
            if _title(other) in STOP:
                break
            if other.lower() in PARTICLES or other.endswith("."):
                continue
            end, count = stop, count + 1
            sure = sure or _title(other.split("-")[0]) in SURNAMES or _title(other) in GIVEN
        if first and _title(words[first - 1][2]) in SURNAMES and not count:
            return words[first - 1][0], words[first][1]
        if count and (sure or _title(word) not in AMBIGUOUS):
            return start, end
    return None


def _drop_stops(text: str) -> tuple[int, int] | None:
    """Without the words at either end that are no names."""
    words = [match.span() for match in _TOKEN.finditer(text)]
    kept = 0
    for start, end in words:
        if _title(text[start:end]) in STOP:
            break
        kept = end
    return (0, kept) if kept else None


def _find_known(text: str) -> tuple[int, int] | None:
    """As `_drop_stops`, if a word of it is a name of the lists."""
    found = _drop_stops(text)
    if found is None:
        return None
    words = (_title(word.split("-")[0]) for word in text[found[0] : found[1]].split())
    return found if any((word in GIVEN or word in SURNAMES) and word not in AMBIGUOUS for word in words) else None


_SURE = [
    rf"\b{letter}(?i:{trie([name[1:] for name in names])})\b"
    for letter, names in groupby(sorted(GIVEN), key=lambda name: name[0])
]
_NAME_GAP = r"['\"]?(?:\s{0,2}[:=]\s{0,2}| )['\"]?"
_RUN = rf"(?<![A-Za-z])(?:{_WORD} ){{0,2}}{_WORD}(?: [A-Z]\.| {_PARTICLE}(?= [A-Z])| {_WORD}){{0,4}}"

_MONTH = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|januar|februar|marz|mai|juni|juli|okt|dez|janvier|fevrier|mars|avril|"
    r"juin|juillet|aout|septembre|octobre|novembre|decembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|"
    r"octubre|noviembre|diciembre|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|janeiro|fevereiro|"
    r"marco|maio|junho|julho|setembro|outubro|dezembro|maart|mei|augustus|january|february|march|april|june|july|august|"
    r"september|october|november|december|oktober|dezember)"
)
DATE = (
    r"(?=[0-9ADEFGJLMNOSadefgjlmnos])"
    rf"(?:\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|(?:19|20)\d{{6}}|\d{{1,2}}[-/.] ?\d{{1,2}}[-/.] ?(?:\d{{4}}|\d{{2}})|"
    rf"(?i:\d{{1,2}}(?:st|nd|rd|th|\.|er)?(?: de| of)?[ -]{_MONTH}\.?,?(?: de)?[ -]\d{{4}})|(?i:{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}))(?!\d)"
)
_BORN = (
    r"(?:dob|d[._]o[._]b|bday|birth|date of birth|born(?: on)?|birth ?date|birthday|date_of_birth|geboren am|geboren|geburtsdatum|geburtstag|geb|geb\.?-? ?datum|"
    r"date (?:de )?naissance|nee? le|fecha (?:de )?nacimiento|nacimiento|nascita|nascimento|nacid[oa] el|data di nascita|nat[oa] il|data de nascimento|nascid[oa] em|"
    r"geboortedatum|geboren op|data urodzenia|urodzon[ya]|fodselsdato|fodselsdag|fodelsedatum|syntymaaika|"
    rf"{spoken('DATE_OF_BIRTH')})"
)

_STREET = (
    r"(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Square|Sq|Way|Place|Pl|Terrace|Close|Crescent|"
    r"Parkway|Pkwy|Highway|Hwy|Row|Mews|Gardens|Grove|Hill)"
)
_CITY = r"(?:,? (?:[A-Z]{1,2}-)?\d{4,5}(?: [A-Z]{2}\b)? [A-Z][a-z]+(?:[ -][A-Z][a-z]+)?)?"
_OF = r"(?:(?:de la|de los|de las|dos|das|dei|delle|della|del|des|du|de|di|da|do|la|le|les|el|d'|l') ?)"
_REST = rf"{_OF}{{0,2}}(?:[A-Z0-9][\w'-]*)(?: {_OF}{{0,2}}[A-Z][\w'-]*){{0,3}}"
_WAY = (
    r"(?:Calle|C/|Avenida|Avda\.?|Av\.|Plaza|Paseo|Camino|Carrera|Via|Viale|Piazza|Corso|Largo|Vicolo|Rua|Travessa|Praca|"
    r"calle|avenida|via|viale|piazza|corso|rua)"
)
_RUE = r"(?:rue|avenue|boulevard|bd|place|allee|chemin|impasse|quai|cours|route|passage|square)"
_STRASSE = r"(?:strasse|stra\xdfe|str\.|weg|platz|allee|gasse|damm|ufer|straat|laan|plein|gracht|kade|dijk|singel)"
_UNIT = r"(?:,? (?:Apt|Apartment|Suite|Ste|Unit|Flat|Floor|#)\.? ?[A-Z0-9-]{1,5}\b)?"
_US_STATE = r"(?:A[KLRZ]|C[AOT]|D[CE]|FL|GA|HI|I[ADLN]|K[SY]|LA|M[ADEINOST]|N[CDEHJMVY]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[AT]|W[AIVY])"

_LOCAL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.!#$%&'*+/?^_{|}~-"
"""Of RFC 5322's atoms all but `=` and the backtick, which stand before an address more often than in it."""

TYPES = (
    Type("EMAIL_ADDRESS", "pii", "E-mail address", (
        shaped(r"[.!#$%&'*/?^{|}~-]*(?P<v>[A-Za-z0-9_+](?:[A-Za-z0-9.!#$%&'*+/?^_{|}~-]{0,62}[A-Za-z0-9_+~-])?@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.){1,8}"
               r"(?:[A-Za-z]{2,24}|xn--[a-z0-9-]{1,59}))(?![A-Za-z0-9])", 0.95, is_mail_address, trigger=r"[A-Za-z0-9_+~-]@[A-Za-z0-9]", behind=66, ahead=260,
               back=_LOCAL),
    )),
    Type("PHONE_NUMBER", "pii", "Telephone number", (
        shaped(r"\+(?<![\d+A-Za-z]\+)\d{1,3}(?:[ ()./-]{0,3}\d){6,13}(?!\d)", 0.9, is_phone, trigger=r"\+\d{1,3}(?:[ ()./-]{0,3}\d){6}", behind=32, ahead=32),
        shaped(r"(?<![\d.(-])(?<!\d )(?:1[ .-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}[ .-])[2-9]\d{2}[ .-]\d{4}(?![\d-]|\.\d)", 0.8, is_any_phone,
               trigger=r"[2-9]\d{2}(?:\) ?|[ .-])[2-9]\d{2}[ .-]\d{4}\b", behind=20, ahead=3),
        shaped(r"(?<![\d.-])0[1-9](?:[ .]\d{2}){4}(?![\d-]|\.\d)", 0.75, trigger=r"\b0[1-9](?:[ .]\d{2}){4}\b", behind=20, ahead=3),
        shaped(r"(?<![\d.-])\(?0(?:20|1\d{2,3}|7\d{3}|8\d{2})\)? \d{3,4} ?\d{3,4}(?![\d-]|\.\d)", 0.7, is_any_phone,
               trigger=r"\b0(?:20|1\d{2,3}|7\d{3}|8\d{2})\)? \d{3,4} ?\d{3,4}\b", behind=22, ahead=3),
        after(r"(?:phone|telephone|tel|mobile|mobil|cell|fax|call(?: me| us)?(?: at| on)?|sms|whatsapp|telefon|telefono|telefone|handy|"
              rf"portable|movil|cellulare|celular|telemovel|telefoon|rufnummer|handynummer|telefonu|komorka|contact number|mobiel|gsm|{spoken('PHONE_NUMBER')})", 
              r"(?!(?<![\d+A-Za-z])\+\d)\(?\+?\(?\d(?:[ ()./-]{0,3}\d){6,14}(?!\d)", 0.85, is_any_phone, unless=r"\b10\.\d{4,9}/\S{0,40}\Z|class=['\"][\w -]{0,12}cell['\"]>\Z"),
    )),
    Type("PERSON", "pii", "Name of a person, by a list of names and the words around", (
        *(shaped(_RUN, 0.7, trigger=trigger, narrow=find_name, behind=48, ahead=80) for trigger in _SURE),
        shaped(rf"\b(?i:{_TITLE})\.? (?:(?:[Dd]r|[Pp]rof)\.? )?(?P<v>{_NAME})", 0.7, trigger=rf"\b(?i:{_TITLE})\.? [A-Z]",
               narrow=_drop_stops, behind=24, ahead=100),
        after(_CALLED, _NAME, 0.6, gap=_NAME_GAP, narrow=_drop_stops),
        after(_NAMED, _NAME, 0.6, gap=_NAME_GAP, narrow=_find_known),
    ), structured=False),
    Type("STREET_ADDRESS", "pii", "Street address", (
        shaped(rf"\b\d{{1,5}}[A-Za-z]?,? (?:[NSEW]\.? )?(?:[A-Z0-9][\w'-]*\.? ){{1,4}}{_STREET}\b\.?{_UNIT}(?:, [A-Z][a-z]+(?: [A-Z][a-z]+)?,? {_US_STATE} \d{{5}})?",
               0.75, trigger=rf"[A-Za-z'.] {_STREET}\b", behind=90, ahead=70),
        shaped(rf"\b\d{{1,4}}(?: ?(?:bis|ter|quater|[A-D]))?,? {_RUE} {_REST}{_CITY}", 0.75, trigger=rf"\b\d{{1,4}}(?: ?(?:bis|ter|quater|[A-D]))?,? {_RUE} ",
               behind=32, ahead=110),
        shaped(rf"\b{_WAY} {_REST},? (?:n\.?[\xbao]? ?)?\d{{1,4}}(?:[ -]?[A-Za-z]\b)?{_CITY}", 0.75, trigger=rf"\b{_WAY} ", behind=16, ahead=140),
        shaped(rf"(?<![\w-])(?:[A-Z][a-z]+[ -]){{0,2}}[A-Z][a-z-]*{_STRASSE} \d{{1,4}}(?: ?[a-z]\b)?(?:-\d{{1,4}})?{_CITY}", 0.75,
               trigger=rf"[a-z-]{_STRASSE} \d", behind=60, ahead=60),
        shaped(rf"(?<![\w-])(?:[A-Z][a-z]+[ -]){{1,2}}(?:Strasse|Stra\xdfe|Str\.|Weg|Platz|Allee|Ring|Ufer|Straat|Laan|Plein) \d{{1,4}}(?: ?[a-z]\b)?{_CITY}", 0.75,
               trigger=r"[a-z][ -](?:Strasse|Stra\xdfe|Str\.|Weg|Platz|Allee|Ring|Ufer|Straat|Laan|Plein) \d", behind=60, ahead=60),
        after(r"p\.? ?o\.? box", r"\d{1,6}\b", 0.7),
    ), structured=False),
    Type("POSTAL_CODE", "pii", "Postal code, by its form or the words before it", (
        after(r"(?:zip|zip ?code|postal ?code|post ?code|plz|postleitzahl|code postal|codigo postal|cep)", r"[A-Z0-9]{2,5}(?:[ -]?[A-Z0-9]{2,4})?\b", 0.75,
              lambda value: any(c.isdigit() for c in value)),
        after("cap", r"\d{5}\b", 0.75),
        shaped(r"\b(?:GIR 0AA|[A-Z]{1,2}\d[A-Z\d]? \d[ABD-HJLNP-UW-Z]{2})\b", 0.7, trigger=r"\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b", behind=12),
        shaped(rf"\b{_US_STATE} (?P<v>\d{{5}}(?:-\d{{4}})?)\b(?![-.]?\d)", 0.65, trigger=r"\b[A-Z]{2} \d{5}\b", behind=16, ahead=8),
        shaped(r"\b[ABCEGHJ-NPRSTVXY]\d[ABCEGHJ-NPRSTV-Z] \d[ABCEGHJ-NPRSTV-Z]\d\b", 0.75, behind=12),
    )),
    Type("DATE_OF_BIRTH", "pii", "Date of birth, by the words before it", (
        after(_BORN, DATE, 0.9, is_birth_date),
    )),
    Type("AGE", "pii", "Age of a person, by the words around it", (
        after(r"(?:aged?|alter|idade|edad|eta|leeftijd)", r"(?:1[01]\d|[1-9]\d?)(?!\d|[dhms]\b|[.%/:-]\d| ?%)", 0.7, gap=r"['\"]?(?: ?[:=] ?| of | )['\"]?"),
        shaped(r"(?<![\d.])(?:1[01]\d|[1-9]?\d)(?:[ -]years?[ -]old| y/o| yo\b| Jahre alt| ans\b(?= |[.,;!?]|$)| anos de (?:edad|idade)| anni di eta| jaar oud)", 0.75,
               trigger=r"\d(?:[ -]years?[ -]old| y/o| yo\b| Jahre alt| anos de (?:edad|idade)| jaar oud)", behind=28),
    )),
    Type("SOCIAL_HANDLE", "pii", "Name on a social network, by the words before it", (
        after(r"(?:twitter|instagram|telegram|tiktok|linkedin|github|mastodon|x handle|snapchat|skype)", r"@[A-Za-z0-9_.]{3,30}(?<!\.)", 0.75,
              gap=r"(?:[ _](?:handle|user(?:name)?|account))?(?: is)?['\"]?\s{0,2}[:=(]?\s{0,2}['\"]?"),
        shaped(r"\b(?:linkedin\.com/in|twitter\.com|instagram\.com|facebook\.com|t\.me)/(?P<v>[A-Za-z0-9_.-]{3,60})(?<![.])", 0.75,
               trigger=r"\b(?:linkedin\.com/in|twitter\.com|instagram\.com|facebook\.com|t\.me)/", behind=24, ahead=64),
    )),
)  # fmt: skip
