"""Numbers of patients, practitioners and diagnoses. Pure."""

from __future__ import annotations

from stdnum.ca import bc_phn
from stdnum.gb import nhs

from mastio_redaction.catalogue.vocabulary import spoken
from mastio_redaction.checks.digits import by, is_dea, is_mbi, is_npi, is_number, varied
from mastio_redaction.rule import Type, after, shaped


def _is_nhs(text: str) -> bool:
    return varied(text) and bool(nhs.is_valid(text))


TYPES = (
    Type("MEDICAL_RECORD_NUMBER", "health", "Medical record or patient number, by the words before it", (
        after(r"(?:mrn|medical record|patient(?:en)?(?:[ _-]?(?:id|identifier|no|nr|number|nummer))|health record|chart (?:number|no)|hospital (?:number|no)|numero de dossier|"
              rf"{spoken('MEDICAL_RECORD_NUMBER')})", r"[A-Z]{0,4}-?\d[\dA-Z-]{4,14}\b(?!-)", 0.85, is_number),
    )),
    Type("UK_NHS", "health", "UK NHS number", (
        after(r"nhs", r"\d{3}[ -]?\d{3}[ -]?\d{4}(?!\d)", 0.95, _is_nhs),
        shaped(r"(?<!\d)(?<!\d[ -])\d{3} \d{3} \d{4}(?![\d -]?\d)", 0.6, _is_nhs, trigger=r"\b\d{3} \d{3} \d{4}\b", behind=16, ahead=3),
    )),
    Type("US_NPI", "health", "US national provider identifier, by the words before it", (
        after(r"(?:npi|(?:national )?provider (?:id|identifier))", r"[12]\d{9}(?!\d)", 0.95, is_npi),
    )),
    Type("US_DEA", "health", "US DEA registration", (
        after(r"dea", r"[ABCDEFGHJKLMPRSTUX][A-Z9]\d{7}\b", 0.95, is_dea),
        shaped(r"\b[ABFGMPR][A-Z9]\d{7}\b", 0.6, is_dea, behind=16),
    )),
    Type("US_MEDICARE", "health", "US Medicare beneficiary identifier", (
        shaped(r"\b[1-9][A-Z][A-Z0-9]\d-?[A-Z][A-Z0-9]\d-?[A-Z]{2}\d\d\b", 0.9, is_mbi, behind=20),
    )),
    Type("CA_HEALTH_NUMBER", "health", "Canadian provincial health number, by the words before it", (
        after(r"(?:phn|health card|ohip|personal health)", r"\d{4}[ -]?\d{3}[ -]?\d{3}(?:[ -]?[A-Z]{2})?\b", 0.85),
        after(r"bc phn", r"9\d{3}[ -]?\d{3}[ -]?\d{3}(?!\d)", 0.95, by(bc_phn)),
    )),
    Type("ICD10_CODE", "health", "Diagnosis (ICD-10), by the words before it", (
        after(r"(?:icd(?:-?(?:9|10|11))?(?:-?(?:cm|gm))?|diagnos(?:is|e|es|tic|tico|tiek)|dx)", r"[A-TV-Z]\d[0-9AB](?:\.[0-9A-Z]{1,4})?\b", 0.85),
    )),
    Type("HEALTH_INSURANCE_ID", "health", "Health insurance number, by the words before it", (
        after(r"(?:health insurance|insurance (?:id|member|policy)|member id|policy number|krankenversicherten|versichertennummer|"
              rf"krankenversicherung|carte vitale|tarjeta sanitaria|tessera sanitaria|{spoken('HEALTH_INSURANCE_ID')})", r"[A-Z]{0,4}-?\d[\dA-Z-]{5,19}\b(?!-)", 0.8, is_number),
    )),
)  # fmt: skip
