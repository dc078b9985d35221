"""Invented values of every type, made by a seeded generator. None is anybody's: check digits are computed, the rest is
chance, domains are reserved ones, and nothing that looks like a key stands in this file as one piece.
"""

from __future__ import annotations

import stdnum.ar.cuit
import stdnum.at.vnr
import stdnum.au.abn
import stdnum.bg.egn
import stdnum.br.cnpj
import stdnum.br.cpf
import stdnum.ch.ssn
import stdnum.cl.rut
import stdnum.de.idnr
import stdnum.dk.cpr
import stdnum.ee.ik
import stdnum.es.dni
import stdnum.fi.hetu
import stdnum.hr.oib
import stdnum.ie.pps
import stdnum.in_.pan
import stdnum.isin
import stdnum.nz.ird
import stdnum.pl.pesel
import stdnum.pt.nif
import stdnum.ro.cnp
import stdnum.tr.tckimlik
import stdnum.us.itin
import stdnum.verhoeff

from support.redaction.chance import ALNUM, DIGITS, HEX, UPPER, URL, Make, day, luhn, number, pick, until
from support.redaction.credentials import connection_string, hexed, jwt, mixed, password, private_key, token
from support.redaction.money import aba, bitcoin, card, iban
from support.redaction.people import address, birth_date, email, person, phone
from support.redaction.registered_numbers import (
    curp,
    dated,
    dea,
    fiscal_code,
    fodselsnummer,
    group,
    hkid,
    ip,
    luhn_grouped,
    mbi,
    national_be,
    nir,
    nric,
    personnummer,
    resident_cn,
    ssn,
    vin,
    weighted,
)

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

VALUES: dict[str, Make] = {
    "EMAIL_ADDRESS": email,
    "PHONE_NUMBER": phone,
    "DATE_OF_BIRTH": birth_date,
    "AGE": lambda r: str(r.randint(18, 96)),
    "POSTAL_CODE": lambda r: f"{r.choice(['SW', 'LS', 'EH'])}{r.randint(1, 9)} {r.randint(1, 9)}{pick(r, 'ABDEFGH', 2)}",
    "SOCIAL_HANDLE": lambda r: f"@user_{r.randint(100, 999)}",
    "CREDIT_CARD": card,
    "CARD_SECURITY_CODE": lambda r: pick(r, DIGITS, 3),
    "CARD_EXPIRY": lambda r: f"{r.randint(1, 12):02}/{r.randint(26, 39)}",
    "IBAN_CODE": iban,
    "BIC_CODE": lambda r: f"{pick(r, UPPER, 4)}{r.choice(['DE', 'FR', 'GB', 'US'])}{pick(r, UPPER + '23456789', 2)}{r.choice(['', 'XXX'])}",
    "US_BANK_ROUTING": aba,
    "BANK_ACCOUNT": lambda r: number(r, r.randint(8, 12)),
    "UK_SORT_CODE": lambda r: f"{r.randint(10, 99)}-{r.randint(10, 99)}-{r.randint(10, 99)}",
    "BITCOIN_ADDRESS": bitcoin,
    "ETHEREUM_ADDRESS": lambda r: "0x" + pick(r, HEX, 40),
    "CRYPTO_WALLET": lambda r: f"{pick(r, _BASE58, 36)}7xK9bT4q",
    "SECURITY_ID": lambda r: (body := f"US{pick(r, UPPER + DIGITS, 9)}") + stdnum.isin.calc_check_digit(body),
    "VAT_NUMBER": lambda r: f"DE{number(r, 9)}",
    "US_SSN": ssn,
    "US_ITIN": until(lambda r: f"9{pick(r, DIGITS, 2)}-{r.randint(70, 88)}-{pick(r, DIGITS, 4)}", stdnum.us.itin.is_valid),
    "UK_NINO": lambda r: f"{r.choice(['AB', 'CE', 'JM', 'PX'])} {r.randint(10, 99)} {r.randint(10, 99)} {r.randint(10, 99)} {r.choice('ABCD')}",
    "CA_SIN": luhn_grouped("1245679", 9, (3, 3, 3), "-"),
    "AU_TFN": weighted((1, 4, 3, 7, 5, 8, 6, 9), 11),
    "AU_ABN": until(lambda r: number(r, 11, "12345678"), stdnum.au.abn.is_valid),
    "AU_MEDICARE": lambda r: weighted((1, 3, 7, 9, 1, 3, 7, 9), 10, "23456")(r) + "1",
    "NZ_IRD": until(lambda r: number(r, 8, "456789"), stdnum.nz.ird.is_valid),
    "DE_TAX_ID": until(lambda r: number(r, 11), stdnum.de.idnr.is_valid),
    "AT_SVNR": until(lambda r: f"{number(r, 4)}{day(r):%d%m%y}", stdnum.at.vnr.is_valid),
    "CH_AHV": until(lambda r: f"756.{pick(r, DIGITS, 4)}.{pick(r, DIGITS, 4)}.{pick(r, DIGITS, 2)}", stdnum.ch.ssn.is_valid),
    "FR_NIR": nir,
    "ES_DNI": lambda r: (body := pick(r, DIGITS, 8)) + stdnum.es.dni.calc_check_digit(body),
    "IT_FISCAL_CODE": fiscal_code,
    "PT_NIF": lambda r: (body := number(r, 8, "12")) + stdnum.pt.nif.calc_check_digit(body),
    "NL_BSN": weighted((9, 8, 7, 6, 5, 4, 3, 2), 11),
    "BE_NATIONAL_NUMBER": national_be,
    "IE_PPS": until(lambda r: number(r, 7) + pick(r, UPPER, 1), stdnum.ie.pps.is_valid),
    "DK_CPR": until(lambda r: f"{day(r, 1940, 1999):%d%m%y}-{number(r, 4, '01234')}", stdnum.dk.cpr.is_valid),
    "SE_PERSONNUMMER": personnummer,
    "NO_FODSELSNUMMER": fodselsnummer,
    "FI_HETU": until(lambda r: f"{day(r, 1940, 1999):%d%m%y}-{r.randint(2, 899):03}{r.choice('0123456789ABCDEFHJKLMNPRSTUVWXY')}", stdnum.fi.hetu.is_valid),
    "PL_PESEL": dated("%y%m%d", stdnum.pl.pesel.calc_check_digit, 4),
    "CZ_BIRTH_NUMBER": until(lambda r: f"{day(r, 1955, 1999):%y%m%d}/{pick(r, DIGITS, 4)}", lambda v: int(v.replace("/", "")) % 11 == 0),
    "RO_CNP": lambda r: (body := f"{r.choice('12')}{day(r, 1950, 1998):%y%m%d}12{r.randint(1, 999):03}") + stdnum.ro.cnp.calc_check_digit(body),
    "BG_EGN": dated("%y%m%d", stdnum.bg.egn.calc_check_digit, 3),
    "HR_OIB": until(lambda r: number(r, 11), stdnum.hr.oib.is_valid),
    "GR_AMKA": lambda r: luhn(f"{day(r, 1950, 1998):%d%m%y}{pick(r, DIGITS, 4)}"),
    "EE_PERSONAL_CODE": until(lambda r: f"3{day(r, 1950, 1998):%y%m%d}{pick(r, DIGITS, 4)}", stdnum.ee.ik.is_valid),
    "TR_KIMLIK": lambda r: (body := number(r, 9)) + stdnum.tr.tckimlik.calc_check_digits(body),
    "IL_ID": lambda r: luhn(number(r, 8)),
    "IN_AADHAAR": lambda r: group((body := number(r, 11, "23456789")) + stdnum.verhoeff.calc_check_digit(body), (4, 4, 4), " "),
    "IN_PAN": until(lambda r: f"{pick(r, UPPER, 3)}P{pick(r, UPPER, 1)}{pick(r, DIGITS, 4)}{pick(r, UPPER, 1)}", stdnum.in_.pan.is_valid),
    "CN_RESIDENT_ID": resident_cn,
    "KR_RRN": lambda r: f"{day(r, 1950, 1999):%y%m%d}-{r.choice('12')}{pick(r, DIGITS, 6)}",
    "SG_NRIC": nric,
    "HK_ID": hkid,
    "ZA_ID": lambda r: luhn(f"{day(r, 1950, 1998):%y%m%d}{pick(r, DIGITS, 4)}08"),
    "BR_CPF": lambda r: stdnum.br.cpf.format((body := number(r, 9)) + stdnum.br.cpf._calc_check_digits(body)),
    "BR_CNPJ": lambda r: stdnum.br.cnpj.format((body := number(r, 8) + "0001") + stdnum.br.cnpj.calc_check_digits(body)),
    "MX_CURP": curp,
    "CL_RUT": lambda r: f"{(body := number(r, 8, '12'))[:2]}.{body[2:5]}.{body[5:]}-{stdnum.cl.rut.calc_check_digit(body)}",
    "AR_CUIT": lambda r: f"20-{(body := pick(r, DIGITS, 8))}-{stdnum.ar.cuit.calc_check_digit('20' + body)}",
    "PASSPORT": lambda r: f"{pick(r, 'CFGHJK', 1)}{number(r, 8)}",
    "DRIVER_LICENSE": lambda r: f"{pick(r, UPPER, 1)}{number(r, 7)}",
    "TAX_ID": lambda r: number(r, 9),
    "MEDICAL_RECORD_NUMBER": lambda r: f"MR{number(r, 7)}",
    "UK_NHS": weighted((10, 9, 8, 7, 6, 5, 4, 3, 2), 11, "4679", invert=True),
    "US_NPI": lambda r: (body := number(r, 9, "1")) + luhn("80840" + body)[-1],
    "US_DEA": dea,
    "US_MEDICARE": mbi,
    "CA_HEALTH_NUMBER": lambda r: f"{number(r, 4)} {number(r, 3)} {number(r, 3)}",
    "ICD10_CODE": lambda r: f"{r.choice('EFIJKM')}{r.randint(10, 99)}.{r.randint(0, 9)}",
    "HEALTH_INSURANCE_ID": lambda r: f"{pick(r, UPPER, 3)}{number(r, 9)}",
    "IP_ADDRESS": ip,
    "MAC_ADDRESS": lambda r: ":".join(pick(r, HEX, 2) for _ in range(6)),
    "IMEI": lambda r: luhn(f"35{number(r, 12)}"),
    "IMSI": lambda r: f"262{r.choice(['01', '02'])}{number(r, 10)}",
    "VEHICLE_ID": vin,
    "LICENSE_PLATE": lambda r: f"{pick(r, UPPER, 2)}{r.randint(10, 99)} {pick(r, UPPER, 3)}",
    "COORDINATES": lambda r: f"{r.uniform(-60, 60):.6f}, {r.uniform(-120, 120):.6f}",
    "AWS_ACCESS_KEY": lambda r: r.choice(["AKIA", "ASIA"]) + pick(r, UPPER + "234567", 16),
    "AZURE_KEY": lambda r: "AccountKey=" + mixed(r, 86, ALNUM + "+/") + "==",
    "GCP_KEY": token("AIza", 35, URL),
    "GITHUB_TOKEN": token("ghp_", 36),
    "GITLAB_TOKEN": token("glpat-", 20),
    "SLACK_TOKEN": token("xoxb-", 40),
    "STRIPE_KEY": token("sk_live_", 24),
    "OPENAI_KEY": token("sk-proj-", 48),
    "ANTHROPIC_KEY": token("sk-ant-api03-", 60, URL),
    "HUGGINGFACE_TOKEN": token("hf_", 34),
    "NPM_TOKEN": token("npm_", 36),
    "PYPI_TOKEN": token("pypi-", 80),
    "TWILIO_KEY": hexed("SK", 32),
    "SENDGRID_KEY": lambda r: f"SG.{mixed(r, 22)}.{mixed(r, 43)}",
    "MAILGUN_KEY": hexed("key-", 32),
    "SHOPIFY_TOKEN": hexed("shpat_", 32),
    "DIGITALOCEAN_TOKEN": hexed("dop_v1_", 64),
    "DATABRICKS_TOKEN": hexed("dapi", 32),
    "VAULT_TOKEN": token("hvs.", 90),
    "DOCKER_TOKEN": token("dckr_pat_", 27),
    "TELEGRAM_TOKEN": lambda r: f"{number(r, 9)}:AA{mixed(r, 33)}",
    "MASTIO_KEY": token("mastio_sk_", 43, ALNUM),
    "JWT": jwt,
    "PRIVATE_KEY": private_key,
    "SSH_KEY": lambda r: f"ssh-ed25519 AAAA{mixed(r, 64)}",
    "CONNECTION_STRING": connection_string,
    "HTTP_AUTHORIZATION": lambda r: mixed(r, 40),
    "PASSWORD": password,
    "SECRET": lambda r: mixed(r, 32),
    "USERNAME": lambda r: f"user{r.randint(100, 9999)}",
    "PERSON": person,
    "STREET_ADDRESS": address,
}  # fmt: skip
