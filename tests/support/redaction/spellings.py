"""Values of structured types as people spell them, with labels of several languages.

Independent of `values.py`: other spellings of the same numbers (no separators, spaces, dots, small letters) and labels
that nobody tuned the rules to.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from support.redaction.chance import ALNUM, DIGITS, HEX, LOWER, UPPER, URL, Make, day, number, pick
from support.redaction.credentials import mixed
from support.redaction.values import VALUES


class Kind(NamedTuple):
    """`make` spells values. `labels`: names of a column or field. `words`: labels in prose, by language."""

    make: Make
    labels: tuple[str, ...]
    words: dict[str, str]
    also: frozenset[str] = frozenset()
    """Types that say as much."""


def _bare(kind: str, *spellings: Callable[[str], str]) -> Make:
    """The generator's value without separators, or in one of these spellings."""

    def made(random: Random) -> str:
        value = "".join(c for c in VALUES[kind](random) if c.isalnum())
        return random.choice(spellings)(value) if spellings else value

    return made


def _cut(*sizes: int, gap: str = " ") -> Callable[[str], str]:
    def cut(text: str) -> str:
        parts, at = [], 0
        for size in sizes:
            parts.append(text[at : at + size])
            at += size
        parts.append(text[at:])
        return gap.join(part for part in parts if part)

    return cut


def _same(text: str) -> str:
    return text


def _as_it_is(kind: str) -> Make:
    return VALUES[kind]


def _either(*makes: Make) -> Make:
    return lambda random: random.choice(makes)(random)


def _born(random: Random) -> str:
    born = day(random)
    return random.choice(
        [f"{born:%Y-%m-%d}", f"{born:%d/%m/%Y}", f"{born:%m-%d-%Y}", f"{born:%d.%m.%y}", f"{born:%Y/%m/%d}",
         f"{born:%b} {born.day}, {born.year}", f"{born.day} {born:%b} {born.year}", f"{born:%d-%b-%Y}", f"{born:%Y%m%d}"]
    )  # fmt: skip


def _password(random: Random) -> str:
    return random.choice(
        [f"Sunny{number(random, 3)}Day", f"{pick(random, LOWER, 6)}{number(random, 2)}!", f"P@ss{pick(random, ALNUM, 5)}7",
         f"{pick(random, ALNUM, 10)}#1x", f"Blau{number(random, 2)}-Katze"]
    )  # fmt: skip


def _phone(random: Random) -> str:
    area, line = random.choice(["212", "415", "646", "305"]), f"555-01{random.randint(10, 99)}"
    return random.choice(
        [f"{area}-{line}", f"({area}) {line}", f"+1-{area}-{line}", f"{area}.{line.replace('-', '.')}",
         f"+44 20 7946 0{random.randint(100, 999)}", f"+49 30 90182{random.randint(1000, 9999)}", f"+33 1 99 00 {random.randint(10, 99)} {random.randint(10, 99)}",
         f"0{random.choice(['30', '89'])} 90182{random.randint(100, 999)}", f"{area}55501{random.randint(10, 99)}"]
    )  # fmt: skip


def _driver(random: Random) -> str:
    return random.choice(
        [f"{pick(random, UPPER, 1)}{number(random, 7)}", f"{pick(random, UPPER, 5)}{number(random, 6)}{pick(random, UPPER, 2)}9{pick(random, UPPER, 2)}",
         f"{pick(random, UPPER, 1)}{number(random, 3)}-{number(random, 4)}-{number(random, 4)}", number(random, 9)]
    )  # fmt: skip


def _passport(random: Random) -> str:
    return random.choice(
        [number(random, 9), f"C0{number(random, 1)}X00T{number(random, 2)}", f"{number(random, 2)}{pick(random, UPPER, 2)}{number(random, 5)}",
         f"{pick(random, UPPER, 2)}{number(random, 7)}"]
    )  # fmt: skip


def _nie(random: Random) -> str:
    body = pick(random, DIGITS, 7)
    first = random.choice("XYZ")
    letter = "TRWAGMYFPDXBNJZSQVHLCKE"[int(str("XYZ".index(first)) + body) % 23]
    return random.choice([f"{first}{body}{letter}", f"{first}-{body}-{letter}"])


def _ipv6(random: Random) -> str:
    return "2001:db8:" + ":".join(f"{random.randint(1, 0xFFFF):x}" for _ in range(6))


def _mac(random: Random) -> str:
    raw = pick(random, HEX, 12)
    return random.choice(
        [_cut(2, 2, 2, 2, 2, gap=":")(raw.upper()), _cut(2, 2, 2, 2, 2, gap="-")(raw), _cut(4, 4, gap=".")(raw)]
    )


def _jwt(random: Random) -> str:
    part = lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("=")  # noqa: E731
    head, body = part(b'{"typ":"JWT","alg":"HS256"}'), part(b'{"sub":"%d","admin":false}' % random.randint(1, 10**9))
    return f"{head}.{body}.{pick(random, URL, 43)}"


def _basic(kind: str, labels: str, words: str = "", make: Make | None = None, also: str = "") -> Kind:
    """`labels` and `words` are separated by `;`; words begin with their language."""
    spoken = dict(pair.strip().split(":", 1) for pair in words.split(";") if pair.strip())
    names = tuple(label.strip() for label in labels.split(";"))
    spoken.setdefault("en", names[0])
    return Kind(make or _as_it_is(kind), names, spoken, frozenset(also.split()))


KINDS: dict[str, Kind] = {
    "CREDIT_CARD": _basic("CREDIT_CARD", "card number;cc_number;credit card;Card No.;pan", "de:Kreditkartennummer;fr:numéro de carte;es:número de tarjeta;it:numero della carta;pt:número do cartão;nl:kaartnummer;pl:numer karty",
                          _bare("CREDIT_CARD", _same, _cut(4, 4, 4), _cut(4, 4, 4, gap="-"))),
    "IBAN_CODE": _basic("IBAN_CODE", "IBAN;iban_code;bank account", "de:IBAN;fr:IBAN;es:IBAN;it:IBAN;pt:IBAN;nl:IBAN;pl:IBAN",
                        _bare("IBAN_CODE", _same, str.lower, _cut(4, 4, 4, 4, 4, 4))),
    "BIC_CODE": _basic("BIC_CODE", "BIC;SWIFT;swift_code;bic_swift", "de:BIC;fr:code BIC;es:código SWIFT;it:codice BIC;pt:código SWIFT;nl:BIC-code;pl:kod SWIFT"),
    "US_SSN": _basic("US_SSN", "SSN;ssn;social security number;Social Security No.;social_security", "en:social security number;es:número de seguro social",
                     _bare("US_SSN", _same, _cut(3, 2, gap="-"), _cut(3, 2))),
    "US_ITIN": _basic("US_ITIN", "ITIN;itin_number", make=_bare("US_ITIN", _same, _cut(3, 2, gap="-"))),
    "US_BANK_ROUTING": _basic("US_BANK_ROUTING", "routing number;ABA;routing_no;aba_routing_number"),
    "BANK_ACCOUNT": _basic("BANK_ACCOUNT", "account number;Account No.;account_no;acct_number;accountNumber", "de:Kontonummer;fr:numéro de compte;es:número de cuenta;it:numero di conto;pt:número da conta;nl:rekeningnummer;pl:numer konta"),
    "UK_SORT_CODE": _basic("UK_SORT_CODE", "sort code;sort_code;Sort Code"),
    "UK_NHS": _basic("UK_NHS", "NHS number;nhs_number;NHS No.;NHS", make=_bare("UK_NHS", _same, _cut(3, 3), _cut(3, 3, gap="-"))),
    "UK_NINO": _basic("UK_NINO", "NINO;National Insurance number;ni_number", make=_bare("UK_NINO", _same, _cut(2, 2, 2, 2))),
    "NL_BSN": _basic("NL_BSN", "BSN;bsn;burgerservicenummer;BSN-nummer", "nl:burgerservicenummer;de:BSN", _bare("NL_BSN", _same, _cut(4, 2, gap="."))),
    "US_NPI": _basic("US_NPI", "NPI;npi_number;National Provider Identifier;Provider NPI"),
    "US_DEA": _basic("US_DEA", "DEA;dea_number;DEA No."),
    "US_MEDICARE": _basic("US_MEDICARE", "MBI;Medicare Beneficiary Identifier;medicare_id", make=_bare("US_MEDICARE", _same, _cut(4, 3, gap="-"))),
    "DE_TAX_ID": _basic("DE_TAX_ID", "steuer_id;Steuer-ID;Steueridentifikationsnummer;IdNr;steuerId", "de:Steuer-ID;en:German tax ID", _bare("DE_TAX_ID", _same, _cut(2, 3, 3))),
    "AU_ABN": _basic("AU_ABN", "ABN;abn;Australian Business Number", make=_bare("AU_ABN", _same, _cut(2, 3, 3))),
    "AU_TFN": _basic("AU_TFN", "TFN;tfn;Tax File Number;tax_file_number", make=_bare("AU_TFN", _same, _cut(3, 3))),
    "AU_MEDICARE": _basic("AU_MEDICARE", "Medicare number;medicare_no;Medicare card", make=_bare("AU_MEDICARE", _same, _cut(4, 5))),
    "NZ_IRD": _basic("NZ_IRD", "IRD;ird_number;IRD No.", make=_bare("NZ_IRD", _same, _cut(2, 3, gap="-"))),
    "IN_AADHAAR": _basic("IN_AADHAAR", "Aadhaar;aadhaar_no;Aadhaar number;aadhar", make=_bare("IN_AADHAAR", _same, _cut(4, 4), _cut(4, 4, gap="-"))),
    "IN_PAN": _basic("IN_PAN", "PAN;pan_number;PAN card"),
    "PL_PESEL": _basic("PL_PESEL", "PESEL;pesel;nr PESEL", "pl:PESEL;de:PESEL"),
    "BR_CPF": _basic("BR_CPF", "CPF;cpf;CPF do cliente;cpf_number", "pt:CPF;es:CPF", _bare("BR_CPF", _same, lambda v: f"{v[:3]}.{v[3:6]}.{v[6:9]}-{v[9:]}")),
    "BR_CNPJ": _basic("BR_CNPJ", "CNPJ;cnpj;cnpj_empresa", "pt:CNPJ", _bare("BR_CNPJ", _same, lambda v: f"{v[:2]}.{v[2:5]}.{v[5:8]}/{v[8:12]}-{v[12:]}")),
    "ES_DNI": _basic("ES_DNI", "DNI;NIF;nie;dni_nif", "es:DNI", _either(VALUES["ES_DNI"], _nie)),
    "IT_FISCAL_CODE": _basic("IT_FISCAL_CODE", "codice fiscale;codice_fiscale;CF;fiscal code", "it:codice fiscale", _bare("IT_FISCAL_CODE", _same, str.lower)),
    "CA_SIN": _basic("CA_SIN", "SIN;sin_number;Social Insurance Number", "fr:numéro d'assurance sociale", _bare("CA_SIN", _same, _cut(3, 3), _cut(3, 3, gap="-"))),
    "CH_AHV": _basic("CH_AHV", "AHV;AHV-Nr.;AVS;ahv_nummer;OASI number", "de:AHV-Nummer;fr:numéro AVS;it:numero AVS", _bare("CH_AHV", _same, lambda v: f"{v[:3]}.{v[3:7]}.{v[7:11]}.{v[11:]}")),
    "SE_PERSONNUMMER": _basic("SE_PERSONNUMMER", "personnummer;personal_number;Personnummer", make=_bare("SE_PERSONNUMMER", _same, lambda v: f"{v[:6]}-{v[6:]}", lambda v: f"19{v[:6]}-{v[6:]}"), also="DK_CPR NO_FODSELSNUMMER"),
    "NO_FODSELSNUMMER": _basic("NO_FODSELSNUMMER", "fødselsnummer;fodselsnummer;fnr", make=_bare("NO_FODSELSNUMMER", _same, _cut(6))),
    "DK_CPR": _basic("DK_CPR", "CPR;cpr_nummer;CPR-nr", make=_bare("DK_CPR", _same, _cut(6, gap="-"))),
    "FI_HETU": _basic("FI_HETU", "HETU;henkilötunnus;hetu"),
    "FR_NIR": _basic("FR_NIR", "NIR;numéro de sécurité sociale;numero_secu;N° de sécurité sociale", "fr:numéro de sécurité sociale", _bare("FR_NIR", _same, _cut(1, 2, 2, 2, 3, 3))),
    "BE_NATIONAL_NUMBER": _basic("BE_NATIONAL_NUMBER", "rijksregisternummer;numéro national;nationaal nummer", "nl:rijksregisternummer;fr:numéro national",
                                 _bare("BE_NATIONAL_NUMBER", _same, lambda v: f"{v[:2]}.{v[2:4]}.{v[4:6]}-{v[6:9]}.{v[9:]}")),
    "PT_NIF": _basic("PT_NIF", "NIF;nif;contribuinte;número de contribuinte", "pt:NIF", _bare("PT_NIF", _same, _cut(3, 3))),
    "IE_PPS": _basic("IE_PPS", "PPS;PPSN;pps_number"),
    "AT_SVNR": _basic("AT_SVNR", "SVNR;Sozialversicherungsnummer;sv_nummer", "de:Sozialversicherungsnummer", _bare("AT_SVNR", _same, _cut(4))),
    "CZ_BIRTH_NUMBER": _basic("CZ_BIRTH_NUMBER", "rodné číslo;rodne_cislo;RČ", make=_bare("CZ_BIRTH_NUMBER", lambda v: f"{v[:6]}/{v[6:]}")),
    "RO_CNP": _basic("RO_CNP", "CNP;cnp"),
    "BG_EGN": _basic("BG_EGN", "EGN;egn"),
    "HR_OIB": _basic("HR_OIB", "OIB;oib"),
    "GR_AMKA": _basic("GR_AMKA", "AMKA;amka"),
    "EE_PERSONAL_CODE": _basic("EE_PERSONAL_CODE", "isikukood;personal code"),
    "TR_KIMLIK": _basic("TR_KIMLIK", "TC Kimlik No;tckn;T.C. Kimlik"),
    "IL_ID": _basic("IL_ID", "Teudat Zehut;israeli_id"),
    "ZA_ID": _basic("ZA_ID", "SA ID;sa_id_number;South African ID"),
    "CN_RESIDENT_ID": _basic("CN_RESIDENT_ID", "resident ID;shenfenzheng;id_card"),
    "KR_RRN": _basic("KR_RRN", "RRN;resident registration number", make=_bare("KR_RRN", _cut(6, gap="-"))),
    "SG_NRIC": _basic("SG_NRIC", "NRIC;nric_fin;FIN"),
    "HK_ID": _basic("HK_ID", "HKID;hkid_no"),
    "MX_CURP": _basic("MX_CURP", "CURP;curp", "es:CURP"),
    "CL_RUT": _basic("CL_RUT", "RUT;rut", "es:RUT", _bare("CL_RUT", lambda v: f"{v[:2]}.{v[2:5]}.{v[5:8]}-{v[8:]}", lambda v: f"{v[:-1]}-{v[-1]}")),
    "AR_CUIT": _basic("AR_CUIT", "CUIT;cuil;CUIT/CUIL", "es:CUIT", _bare("AR_CUIT", _same, lambda v: f"{v[:2]}-{v[2:10]}-{v[10:]}")),
    "VAT_NUMBER": _basic("VAT_NUMBER", "VAT number;vat_id;USt-IdNr.;VAT ID", "de:USt-IdNr.;fr:numéro de TVA;it:partita IVA;nl:btw-nummer"),
    "IMEI": _basic("IMEI", "IMEI;imei;device_imei;IMEI number;imei1", "de:IMEI;fr:IMEI;es:IMEI;it:IMEI;pt:IMEI;nl:IMEI;pl:numer IMEI", _bare("IMEI", _same, _cut(2, 6, 6, gap="-"), _cut(2, 6, 6))),
    "IMSI": _basic("IMSI", "IMSI;imsi"),
    "PHONE_NUMBER": _basic("PHONE_NUMBER", "phone;mobile;phone_number;Telephone;contact number;cell phone", "de:Telefonnummer;fr:numéro de téléphone;es:teléfono;it:numero di telefono;pt:telefone;nl:telefoonnummer;pl:numer telefonu", _phone),
    "EMAIL_ADDRESS": _basic("EMAIL_ADDRESS", "email;e-mail;Email Address;contact", "de:E-Mail-Adresse;fr:adresse e-mail;es:correo;it:e-mail;pt:e-mail;nl:e-mailadres;pl:adres e-mail"),
    "IP_ADDRESS": _basic("IP_ADDRESS", "ip;client_ip;IP address;remote_addr", "de:IP-Adresse;fr:adresse IP;es:dirección IP;it:indirizzo IP;pt:endereço IP;nl:IP-adres;pl:adres IP", _either(VALUES["IP_ADDRESS"], _ipv6)),
    "MAC_ADDRESS": _basic("MAC_ADDRESS", "mac;mac_address;MAC", "de:MAC-Adresse;fr:adresse MAC", _mac),
    "PASSWORD": _basic("PASSWORD", "password;Passwort;db_password;passwd;pass;pwd;user_password;contraseña;mot de passe", "en:password;de:Passwort;fr:mot de passe;es:contraseña;it:password;pt:senha;nl:wachtwoord;pl:hasło", _password),
    "SECRET": _basic("SECRET", "api_key;apiKey;API key;client_secret;access_token;X-Api-Key", "de:API-Schlüssel;fr:clé API;es:clave API;it:chiave API;pt:chave API;nl:API-sleutel;pl:klucz API", lambda r: mixed(r, 32)),
    "AWS_SECRET": _basic("AWS_ACCESS_KEY", "aws_secret_access_key;AWS_SECRET_ACCESS_KEY;SecretAccessKey;aws_secret_key;secret_access_key", "en:AWS secret key", lambda r: mixed(r, 40, ALNUM + "/+"), also="AWS_ACCESS_KEY SECRET"),
    "AWS_ACCESS_KEY": _basic("AWS_ACCESS_KEY", "aws_access_key_id;AccessKeyId;access key"),
    "GITHUB_TOKEN": _basic("GITHUB_TOKEN", "GITHUB_TOKEN;gh_token;token"),
    "STRIPE_KEY": _basic("STRIPE_KEY", "STRIPE_SECRET_KEY;stripe key;key"),
    "SLACK_TOKEN": _basic("SLACK_TOKEN", "SLACK_BOT_TOKEN;slack;token"),
    "OPENAI_KEY": _basic("OPENAI_KEY", "OPENAI_API_KEY;openai key;key"),
    "JWT": _basic("JWT", "jwt;id_token;session;access_token", make=_jwt),
    "CONNECTION_STRING": _basic("CONNECTION_STRING", "DATABASE_URL;dsn;connection"),
    "DATE_OF_BIRTH": _basic("DATE_OF_BIRTH", "date of birth;dob;DOB;birth_date;dateOfBirth;Birthdate;Geburtsdatum", "de:Geburtsdatum;fr:date de naissance;es:fecha de nacimiento;it:data di nascita;pt:data de nascimento;nl:geboortedatum;pl:data urodzenia", _born),
    "PASSPORT": _basic("PASSPORT", "passport;passport_number;Passport No.;passportNo", "de:Reisepassnummer;fr:numéro de passeport;es:número de pasaporte;it:numero di passaporto;pt:número do passaporte;nl:paspoortnummer;pl:numer paszportu", _passport),
    "DRIVER_LICENSE": _basic("DRIVER_LICENSE", "driver's license;drivers_license;driving licence;Driver License No.;driver_license_number;DL number", "de:Führerscheinnummer;fr:permis de conduire;es:licencia de conducir;it:patente;pt:carta de condução;nl:rijbewijs;pl:prawo jazdy", _driver),
    "BITCOIN_ADDRESS": _basic("BITCOIN_ADDRESS", "btc_wallet;bitcoin address;wallet"),
    "ETHEREUM_ADDRESS": _basic("ETHEREUM_ADDRESS", "eth_address;wallet;ethereum wallet"),
    "VEHICLE_ID": _basic("VEHICLE_ID", "VIN;vin;vehicle identification number"),
    "CARD_SECURITY_CODE": _basic("CARD_SECURITY_CODE", "CVV;cvc;security code;cvv2"),
    "CARD_EXPIRY": _basic("CARD_EXPIRY", "expiry;exp_date;expiration date;valid thru", make=_either(VALUES["CARD_EXPIRY"], lambda r: f"{r.randint(1, 12):02}/20{r.randint(26, 39)}")),
    "MEDICAL_RECORD_NUMBER": _basic("MEDICAL_RECORD_NUMBER", "MRN;medical record number;mrn;patient_id"),
    "USERNAME": _basic("USERNAME", "username;user_name;login;Benutzername", "de:Benutzername;fr:nom d'utilisateur;es:nombre de usuario;it:nome utente;nl:gebruikersnaam", lambda r: f"{pick(r, LOWER, 6)}.{pick(r, LOWER, 4)}{r.randint(1, 99)}"),
}  # fmt: skip
"""By type; two names share one type."""

TYPE_OF = {"AWS_SECRET": "AWS_ACCESS_KEY"}
