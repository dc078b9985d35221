"""Cards, accounts and money's other numbers. Pure."""

from __future__ import annotations

from stdnum import cusip, isin, lei

from mastio_redaction.catalogue.vocabulary import spoken
from mastio_redaction.checks.digits import (
    by,
    find_iban,
    has_digit,
    is_aba,
    is_base58check,
    is_bech32,
    is_bic,
    is_very_random,
    seek_cards,
)
from mastio_redaction.checks.grouping import CARD_TRIGGER, IBAN_TRIGGER, seek_grouped_cards, seek_grouped_ibans
from mastio_redaction.rule import Type, after, shaped, sought

TYPES = (
    Type("CREDIT_CARD", "financial", "Payment card number", (
        sought(CARD_TRIGGER, seek_cards, 0.94),
        sought(CARD_TRIGGER, seek_grouped_cards, 0.93),
    )),
    Type("CARD_SECURITY_CODE", "financial", "Card security code, by the words before it", (
        after(rf"(?:cvv2?|cvc2?|csc|cvn|card code|security code|card verification|prufziffer|kartenprufnummer|cryptogramme|{spoken('CARD_SECURITY_CODE')})",
              r"\d{3,4}(?!\d|-\d| ?(?:ms|s|px|[kmg]b|%)(?![a-z]))", 0.9),
    )),
    Type("CARD_EXPIRY", "financial", "Card expiry, by the words before it", (
        after(rf"(?:exp(?:iry|ires|iration)?(?: date)?|card expiry|valid (?:thru|until)|gultig bis|caduca|scadenza|validade|{spoken('CARD_EXPIRY')})",
              r"(?:0[1-9]|1[0-2])[/-](?:20)?[2-4]\d(?!\d|[/-])", 0.75, unless=r"(?i)\b(?:lot|batch|charge)\b.{0,30}\Z"),
    )),
    Type("IBAN_CODE", "financial", "International bank account number", (
        shaped(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,42}", 0.98, trigger=IBAN_TRIGGER, narrow=find_iban, behind=18, ahead=48),
        sought(IBAN_TRIGGER, seek_grouped_ibans, 0.97),
    )),
    Type("BIC_CODE", "financial", "Bank identifier code (SWIFT), by the words before it", (
        after(r"(?:bic|swift|bank identifier code)(?:[/ -](?:swift|bic))?", r"(?i:[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?)\b", 0.9, is_bic),
    )),
    Type("US_BANK_ROUTING", "financial", "ABA routing number, by the words before it", (
        after(r"(?:(?:aba )?routing|aba|rtn|transit)", r"\d{9}(?!\d)", 0.95, is_aba),
    )),
    Type("BANK_ACCOUNT", "financial", "Bank account number, by the words before it", (
        after(rf"(?:bank account|account|acct|konto|kontonummer|numer konta|compte|cuenta|conto|conta|rekening(?:nummer)?|{spoken('BANK_ACCOUNT')})",
              r"\d(?:[ -]?\d){5,16}(?![\d-])", 0.75,
              gap=r"(?: bancaire| bancaria| corrente| corriente| bancario)?[ _-]{0,2}(?:number|num|nr|no|n\N{DEGREE SIGN}|#)?\.?['\"]?\s{0,2}"
                  r"(?::|=|#|is|ist|est|es|e)?\s{0,2}['\"#]?"),
    )),
    Type("UK_SORT_CODE", "financial", "UK sort code, by the words before it", (
        after(r"sort code", r"\d{2}[ -]?\d{2}[ -]?\d{2}(?!\d)", 0.9),
    )),
    Type("BITCOIN_ADDRESS", "financial", "Bitcoin address, and those of Litecoin, Dogecoin and Tron", (
        shaped(r"\b[13DLMT][1-9A-HJ-NP-Za-km-z]{25,34}\b", 0.95, is_base58check, behind=40),
        shaped(r"\b(?:bc1|BC1|tb1|ltc1)[0-9A-Za-z]{25,87}\b", 0.95, is_bech32, behind=96),
    )),
    Type("ETHEREUM_ADDRESS", "financial", "Ethereum address", (
        shaped(r"\b0x[0-9a-fA-F]{40}\b", 0.9, behind=48),
    )),
    Type("CRYPTO_WALLET", "financial", "Wallet address of another currency, by the words before it", (
        after(r"(?:wallet|xrp|ripple|monero|xmr|solana|cardano|stellar|xlm|polkadot|crypto)(?: (?:wallet|address))?(?: address)?",
              r"[1-9A-HJ-NP-Za-km-z]{25,110}\b", 0.85, is_very_random),
    )),
    Type("SECURITY_ID", "financial", "ISIN, CUSIP and LEI of a security or a legal entity, by the words before it", (
        after(r"(?:isin)", r"[A-Z]{2}[A-Z0-9]{9}\d\b", 0.9, by(isin)),
        after(r"(?:cusip)", r"[0-9A-Z]{8}\d\b", 0.9, by(cusip)),
        after(r"(?:lei)", r"[0-9A-Z]{18}\d\d\b", 0.9, by(lei)),
    )),
    Type("VAT_NUMBER", "financial", "VAT number of the European Union, by the words before it", (
        after(rf"(?:vat|vatin|uid-?nummer|tva intracommunautaire|ust-?id(?:-?nr)?|umsatzsteuer-?id|tva|iva|btw|partita iva|p\.? ?iva|{spoken('VAT_NUMBER')})(?: (?:reg|registration))?",
              r"(?:AT|BE|BG|CY|CZ|DE|DK|EE|EL|ES|FI|FR|GB|HR|HU|IE|IT|LT|LU|LV|MT|NL|PL|PT|RO|SE|SI|SK|XI)[ ]?[0-9A-Z]{8,12}\b",
              0.85, has_digit),
    )),
)  # fmt: skip
