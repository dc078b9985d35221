"""Numbers that states give to people. Where digits alone would be taken for a number of an order, words must stand
before.

Pure.
"""

from __future__ import annotations

import stdnum.ar.cuit
import stdnum.at.vnr
import stdnum.au.abn
import stdnum.au.tfn
import stdnum.be.nn
import stdnum.bg.egn
import stdnum.br.cnpj
import stdnum.br.cpf
import stdnum.ca.sin
import stdnum.ch.ssn
import stdnum.cl.rut
import stdnum.cz.rc
import stdnum.de.idnr
import stdnum.dk.cpr
import stdnum.ee.ik
import stdnum.es.dni
import stdnum.es.nie
import stdnum.fi.hetu
import stdnum.fr.nir
import stdnum.gr.amka
import stdnum.hr.oib
import stdnum.ie.pps
import stdnum.il.idnr
import stdnum.in_.pan
import stdnum.it.codicefiscale
import stdnum.kr.rrn
import stdnum.mx.curp
import stdnum.nl.bsn
import stdnum.no.fodselsnummer
import stdnum.nz.ird
import stdnum.pl.pesel
import stdnum.pt.nif
import stdnum.ro.cnp
import stdnum.se.personnummer
import stdnum.tr.tckimlik
import stdnum.us.itin
import stdnum.za.idnr

from mastio_redaction.catalogue.vocabulary import spoken
from mastio_redaction.checks.digits import by, by_digits, digits, is_date, is_number, is_verhoeff, varied
from mastio_redaction.rule import Type, after, shaped

_N = r"(?!\d)"


_AREA = r"(?!000|666)[0-8]\d{2}"


def _is_ssn(text: str) -> bool:
    """Ranges are in the expression; these two were printed on cards as examples, and many have used them."""
    return varied(text) and digits(text) not in ("078051120", "219099999")


def _is_passport(text: str) -> bool:
    """Four digits or more; two in nine signs, as in numbers of the kind `C01X00T47` (ICAO Doc 9303)."""
    count = sum(c.isdigit() for c in text)
    return count >= 4 or (count >= 2 and len(text) == 9)


def _is_medicare(text: str) -> bool:
    """Australia: eight digits weighted 1, 3, 7, 9, and their remainder."""
    number = [int(c) for c in text if c.isdigit()]
    return sum(d * w for d, w in zip(number, (1, 3, 7, 9, 1, 3, 7, 9), strict=False)) % 10 == number[8]


def _is_nric(text: str) -> bool:
    """Singapore: weights 2 7 6 5 4 3 2, offset by the letter."""
    letter, number = text[0].upper(), [int(c) for c in text[1:8]]
    rest = sum(d * w for d, w in zip(number, (2, 7, 6, 5, 4, 3, 2), strict=True)) + {"T": 4, "G": 4, "M": 3}.get(
        letter, 0
    )
    letters = {"S": "JZIHGFEDCBA", "T": "JZIHGFEDCBA", "F": "XWUTRQPNMLK", "G": "XWUTRQPNMLK", "M": "XWUTRQPNJLK"}[
        letter
    ]
    place = rest % 11 if letter != "M" else 10 - rest % 11
    return letters[place] == text[8].upper()


def _is_resident(text: str) -> bool:
    """China: ISO 7064 MOD 11-2. (python-stdnum reads a table of counties for it, and knows not all.)"""
    total = sum((10 if c in "Xx" else int(c)) * pow(2, 17 - place, 11) for place, c in enumerate(text))
    return total % 11 == 1 and is_date(int(text[6:10]), int(text[10:12]), int(text[12:14]))


def _is_hkid(text: str) -> bool:
    """Hong Kong: weights 9 to 2, one letter counts as if a space stood before it."""
    compact = "".join(c for c in text.upper() if c.isalnum())
    body, check = compact[:-1].rjust(8), compact[-1]
    total = sum((36 if c == " " else int(c, 36)) * w for c, w in zip(body, range(9, 1, -1), strict=True))
    return (total + (10 if check == "A" else int(check))) % 11 == 0


TYPES = (
    Type("US_SSN", "national_id", "US social security number", (
        shaped(rf"(?<![\d-]){_AREA}-(?!00)\d{{2}}-(?!0000)\d{{4}}(?![\d-])", 0.9, _is_ssn, trigger=r"\d{3}-\d{2}-\d{4}\b", behind=14, ahead=2),
        after(r"(?:ssn|social security|soc\.? sec|seguro social)", rf"{_AREA}[ -]?(?!00)\d{{2}}[ -]?(?!0000)\d{{4}}{_N}", 0.92, _is_ssn),
    )),
    Type("US_ITIN", "national_id", "US individual taxpayer number", (
        shaped(r"(?<![\d-])9\d{2}-\d{2}-\d{4}(?![\d-])", 0.92, by(stdnum.us.itin), trigger=r"\b9\d{2}-\d{2}-\d{4}\b", behind=14, ahead=2),
        after(r"(?:itin|individual taxpayer(?: identification)?|tin|tax(?:payer)? (?:id|number|no))", rf"9\d{{2}}[ -]?\d{{2}}[ -]?\d{{4}}{_N}", 0.95, by_digits(stdnum.us.itin)),
    )),
    Type("UK_NINO", "national_id", "UK national insurance number", (
        shaped(r"\b(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]\b", 0.92,
               trigger=r"\b[A-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]\b", behind=20),
    )),
    Type("CA_SIN", "national_id", "Canadian social insurance number", (
        shaped(r"(?<![\d-])[1-79]\d{2}-\d{3}-\d{3}(?![\d-])", 0.85, by(stdnum.ca.sin), trigger=r"\b\d{3}-\d{3}-\d{3}\b", behind=14, ahead=2),
        after(r"(?:sin|s\.i\.n|social insurance|nas|assurance sociale)", rf"[1-79]\d{{2}}[ -]?\d{{3}}[ -]?\d{{3}}{_N}", 0.95, by(stdnum.ca.sin)),
    )),
    Type("AU_TFN", "national_id", "Australian tax file number, by the words before it", (
        after(r"(?:tfn|t\.f\.n|tax file)", rf"\d{{3}}[ -]?\d{{3}}[ -]?\d{{2,3}}{_N}", 0.95, by(stdnum.au.tfn)),
    )),
    Type("AU_ABN", "financial", "Australian business number, by the words before it", (
        after(r"(?:abn|a\.b\.n|(?:australian )?business (?:number|no))", rf"[1-9]\d[ ]?\d{{3}}[ ]?\d{{3}}[ ]?\d{{3}}{_N}", 0.95, by(stdnum.au.abn)),
    )),
    Type("AU_MEDICARE", "national_id", "Australian Medicare number, by the words before it", (
        after(r"medicare(?: card)?", rf"[2-6]\d{{3}}[ -]?\d{{5}}[ -]?\d(?:[ /-]?\d)?{_N}", 0.95, _is_medicare),
    )),
    Type("NZ_IRD", "national_id", "New Zealand IRD number, by the words before it", (
        after(r"(?:ird|inland revenue)", rf"\d{{2,3}}[ -]?\d{{3}}[ -]?\d{{3}}{_N}", 0.95, by(stdnum.nz.ird)),
    )),
    Type("DE_TAX_ID", "national_id", "German tax number of a person, by the words before it", (
        after(r"(?:steuer-?(?:id|identifikation|identifikationsnummer|nummer|ident-?n(?:r|ummer))|steuerliche identifikationsnummer|identifikationsnummer|id nr|tin|tax id)(?:-?nr)?", rf"\d{{2}}[ ]?\d{{3}}[ ]?\d{{3}}[ ]?\d{{3}}{_N}",
              0.95, by(stdnum.de.idnr)),
    )),
    Type("AT_SVNR", "national_id", "Austrian insurance number, by the words before it", (
        after(r"(?:svnr|vsnr|sv-?n(?:r|ummer)|sozialversicherungs-?n(?:r|ummer)|versicherungs-?n(?:r|ummer))", rf"\d{{4}}[ ]?\d{{6}}{_N}", 0.95, by(stdnum.at.vnr)),
    )),
    Type("CH_AHV", "national_id", "Swiss social security number", (
        shaped(r"(?<![\d.])756\.\d{4}\.\d{4}\.\d{2}(?!\d|\.\d)", 0.97, by(stdnum.ch.ssn), trigger=r"\b756\.\d{4}\.\d{4}\.\d{2}\b", behind=20, ahead=3),
        after(r"(?:ahvn13|ahv|avs|avs/ai|oasi|sozialversicherungs|social security)(?:-?n(?:r|ummer))?", rf"756[ .]?\d{{4}}[ .]?\d{{4}}[ .]?\d{{2}}{_N}", 0.97, by(stdnum.ch.ssn)),
    )),
    Type("FR_NIR", "national_id", "French social security number", (
        shaped(r"(?<![\d.-])[12378] ?\d{2} ?(?:0[1-9]|1[0-2]|[2-4]\d|50|99) ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}(?!\d|[.-]\d)", 0.93,
               by(stdnum.fr.nir), trigger=r"[12378] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}\b", behind=26, ahead=3),
    )),
    Type("ES_DNI", "national_id", "Spanish identity number (DNI, NIF, NIE)", (
        shaped(r"\b\d{8}-?[TRWAGMYFPDXBNJZSQVHLCKE]\b", 0.9, by(stdnum.es.dni), trigger=r"\b\d{8}-?[A-Z]\b", behind=14),
        shaped(r"\b\d{2}\.\d{3}\.\d{3}-?[TRWAGMYFPDXBNJZSQVHLCKE]\b", 0.92, lambda v: bool(stdnum.es.dni.is_valid(v.replace(".", ""))),
               trigger=r"\b\d{2}\.\d{3}\.\d{3}-?[A-Z]\b", behind=16),
        shaped(r"\b[XYZ]-?\d{7}-?[A-Z]\b", 0.92, by(stdnum.es.nie), behind=14),
    )),
    Type("IT_FISCAL_CODE", "national_id", "Italian fiscal code", (
        shaped(r"\b(?i:[A-Z]{6}\d{2}[ABCDEHLMPRST]\d{2}[A-Z]\d{3}[A-Z])\b", 0.97, by(stdnum.it.codicefiscale),
               trigger=r"(?i)\b[A-Z]{6}\d{2}[ABCDEHLMPRST]\d{2}[A-Z]\d{3}[A-Z]\b", behind=20),
    )),
    Type("PT_NIF", "national_id", "Portuguese tax number, by the words before it", (
        after(r"(?:nif|contribuinte|numero fiscal|identificacao fiscal)", rf"[1-3568]\d{{2}}[ .]?\d{{3}}[ .]?\d{{3}}{_N}", 0.95, by(stdnum.pt.nif)),
    )),
    Type("NL_BSN", "national_id", "Dutch citizen service number, by the words before it", (
        after(r"(?:bsn|burger ?service ?nummer|citizen service number|sofi)(?:-?n(?:r|ummer))?", rf"\d{{3,4}}[ .-]?\d{{2,3}}[ .-]?\d{{2,3}}{_N}", 0.95, by(stdnum.nl.bsn)),
    )),
    Type("BE_NATIONAL_NUMBER", "national_id", "Belgian national number", (
        shaped(r"(?<![\d.])\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}(?!\d)", 0.96, by(stdnum.be.nn), trigger=r"\b\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}\b", behind=20),
        after(r"(?:rijksregister(?:nummer|nr)?|registre national|numero (?:de )?(?:registre )?national|nationaal nummer|national (?:register )?number|insz|niss)", rf"\d{{6}}[ -]?\d{{3}}[ -]?\d{{2}}{_N}", 0.95, by(stdnum.be.nn)),
    )),
    Type("IE_PPS", "national_id", "Irish personal public service number", (
        shaped(r"\b\d{7}[A-W][AHWTX]?\b", 0.85, by(stdnum.ie.pps), behind=12),
    )),
    Type("DK_CPR", "national_id", "Danish personal number", (
        shaped(r"(?<![\d-])(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])\d{2}-\d{4}(?![\d-])", 0.8, by(stdnum.dk.cpr), trigger=r"\b\d{6}-\d{4}\b",
               behind=14, ahead=2),
        after(r"(?:cpr|personnummer)(?:-?n(?:r|ummer))?", rf"\d{{6}}[ -]?\d{{4}}{_N}", 0.93, by(stdnum.dk.cpr)),
    )),
    Type("SE_PERSONNUMMER", "national_id", "Swedish personal number", (
        shaped(r"(?<![\d-])(?:19|20)?\d{6}[-+]\d{4}(?![\d-])", 0.9, by(stdnum.se.personnummer), trigger=r"\d{6}[-+]\d{4}\b", behind=16, ahead=2),
        after(r"(?:person nummer|personal (?:identity )?number|samordningsnummer|pnr)", rf"(?:19|20)?\d{{6}}[-+ ]?\d{{4}}{_N}", 0.94, by(stdnum.se.personnummer)),
    )),
    Type("NO_FODSELSNUMMER", "national_id", "Norwegian birth number, by the words before it", (
        after(r"(?:f.dselsn(?:umme)?r|personnummer|fnr|norwegian (?:id|birth|personal)|birth (?:number|no|nr)|national identity)", rf"\d{{6}}[ -]?\d{{5}}{_N}", 0.95, by_digits(stdnum.no.fodselsnummer)),
    )),
    Type("FI_HETU", "national_id", "Finnish personal identity code", (
        shaped(r"\b\d{6}[-+ABCDEFYXWVU]\d{3}[0-9A-FHJ-NPR-Y]\b", 0.89, by(stdnum.fi.hetu), behind=14),
    )),
    Type("PL_PESEL", "national_id", "Polish PESEL, by the words before it", (
        after(r"(?:nr |numer )?pesel", rf"\d{{11}}{_N}", 0.96, by(stdnum.pl.pesel)),
    )),
    Type("CZ_BIRTH_NUMBER", "national_id", "Czech or Slovak birth number", (
        shaped(r"(?<![\d/])\d{6}/\d{3,4}(?![\d/])", 0.9, by(stdnum.cz.rc), trigger=r"\b\d{6}/\d{3}", behind=14, ahead=3),
        after(r"(?:rodne cislo|rodnecislo|r\.c\.|(?:czech|slovak) (?:birth|personal|id)|birth (?:number|no|nr))", rf"\d{{6}}/?\d{{3,4}}{_N}", 0.94, by(stdnum.cz.rc)),
    )),
    Type("RO_CNP", "national_id", "Romanian personal number, by the words before it", (
        after(r"(?:cnp|cod numeric personal)", rf"[1-9]\d{{12}}{_N}", 0.96, by(stdnum.ro.cnp)),
    )),
    Type("BG_EGN", "national_id", "Bulgarian citizen number, by the words before it", (
        after(r"egn", rf"\d{{10}}{_N}", 0.95, by(stdnum.bg.egn)),
    )),
    Type("HR_OIB", "national_id", "Croatian personal number, by the words before it", (
        after(r"(?:oib|osobni identifikacijski broj)", rf"\d{{11}}{_N}", 0.95, by(stdnum.hr.oib)),
    )),
    Type("GR_AMKA", "national_id", "Greek social security number, by the words before it", (
        after(r"amka", rf"\d{{11}}{_N}", 0.95, by(stdnum.gr.amka)),
    )),
    Type("EE_PERSONAL_CODE", "national_id", "Estonian personal code, by the words before it", (
        after(r"(?:isikukood|personal (?:id |identification )?code|estonian id)", rf"[1-8]\d{{10}}{_N}", 0.95, by(stdnum.ee.ik)),
    )),
    Type("TR_KIMLIK", "national_id", "Turkish identity number, by the words before it", (
        after(r"(?:t\.?c\.? kimlik|kimlik|tckn|t\.?c\.? no)", rf"[1-9]\d{{10}}{_N}", 0.95, by(stdnum.tr.tckimlik)),
    )),
    Type("IL_ID", "national_id", "Israeli identity number, by the words before it", (
        after(r"(?:teudat zehut|mispar zehut|israel(?:i)? id)", rf"\d{{8,9}}{_N}", 0.95, by(stdnum.il.idnr)),
    )),
    Type("IN_AADHAAR", "national_id", "Indian Aadhaar", (
        shaped(r"(?<!\d)(?<!\d[ -])[2-9]\d{3} \d{4} \d{4}(?! ?\d)", 0.85, is_verhoeff, trigger=r"\b[2-9]\d{3} \d{4} \d{4}\b", behind=18, ahead=3),
        after(r"(?:a?adhaa?r|uidai|uid)", rf"[2-9]\d{{3}}[ -]?\d{{4}}[ -]?\d{{4}}{_N}", 0.95, is_verhoeff),
    )),
    Type("IN_PAN", "national_id", "Indian permanent account number", (
        shaped(r"\b[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]\b", 0.9, by(stdnum.in_.pan), behind=14),
    )),
    Type("CN_RESIDENT_ID", "national_id", "Chinese resident identity number", (
        shaped(r"(?<!\d)[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?![\dA-Za-z])", 0.95,
               _is_resident, trigger=r"[1-9]\d{5}(?:19|20)\d{9}[\dXx]", behind=20, ahead=2),
    )),
    Type("KR_RRN", "national_id", "Korean resident registration number", (
        shaped(r"(?<![\d-])\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])-[1-8]\d{6}(?![\d-])", 0.92,
               trigger=r"\b\d{6}-[1-8]\d{6}\b", behind=16, ahead=2),
        after(r"(?:rrn|resident registration)", rf"\d{{6}}-?\d{{7}}{_N}", 0.95, by(stdnum.kr.rrn)),
    )),
    Type("SG_NRIC", "national_id", "Singaporean NRIC or FIN", (
        shaped(r"\b[STFGM]\d{7}[A-Z]\b", 0.93, _is_nric, behind=12),
    )),
    Type("HK_ID", "national_id", "Hong Kong identity card", (
        shaped(r"\b[A-Z]{1,2}\d{6}\([0-9A]\)", 0.93, _is_hkid, behind=14),
    )),
    Type("ZA_ID", "national_id", "South African identity number, by the words before it", (
        after(r"(?:sa id|south african id|rsa id|id|identity)", rf"\d{{6}}[ ]?\d{{4}}[ ]?[01][89]\d{_N}", 0.96, by(stdnum.za.idnr)),
    )),
    Type("BR_CPF", "national_id", "Brazilian CPF", (
        shaped(r"(?<![\d.])\d{3}\.\d{3}\.\d{3}-\d{2}(?!\d)", 0.95, by(stdnum.br.cpf), trigger=r"\b\d{3}\.\d{3}\.\d{3}-\d{2}\b", behind=18),
        after(r"(?:cpf|c\.p\.f)", rf"\d{{11}}{_N}", 0.95, by(stdnum.br.cpf)),
    )),
    Type("BR_CNPJ", "national_id", "Brazilian CNPJ", (
        shaped(r"(?<![\d.])\d{2}\.\d{3}\.\d{3}/\d{4}-\d{2}(?!\d)", 0.95, by(stdnum.br.cnpj), trigger=r"\b\d{2}\.\d{3}\.\d{3}/\d{4}-\d{2}\b", behind=22),
        after(r"(?:cnpj|c\.n\.p\.j)", rf"\d{{14}}{_N}", 0.95, by(stdnum.br.cnpj)),
    )),
    Type("MX_CURP", "national_id", "Mexican CURP", (
        shaped(r"\b[A-Z]{4}\d{6}[HMX][A-Z]{5}[A-Z0-9]\d\b", 0.96, by(stdnum.mx.curp), behind=20),
    )),
    Type("CL_RUT", "national_id", "Chilean RUT", (
        shaped(r"(?<![\d.])\d{1,2}\.\d{3}\.\d{3}-[\dKk]\b", 0.93, by(stdnum.cl.rut), trigger=r"\b\d{1,2}\.\d{3}\.\d{3}-[\dKk]\b", behind=16),
        after(r"(?:rut|r\.u\.t|run)", r"\d{7,8}-[\dKk]\b", 0.95, by(stdnum.cl.rut)),
    )),
    Type("AR_CUIT", "national_id", "Argentinian CUIT or CUIL", (
        shaped(r"(?<![\d-])(?:2[03457]|3[034])-\d{8}-\d(?![\d-])", 0.93, by(stdnum.ar.cuit), trigger=r"\b\d{2}-\d{8}-\d\b", behind=16, ahead=2),
        after(r"(?:cuit|cuil)(?:/cui[tl])?", rf"(?:2[03457]|3[034])[ -]?\d{{8}}[ -]?\d{_N}", 0.95, by(stdnum.ar.cuit)),
    )),
    Type("PASSPORT", "national_id", "Passport number, by the words before it", (
        after(rf"(?:passport|reisepass|passeport|pasaporte|passaporto|passaporte|paspoort|paszportu?|pass-?n(?:r|ummer)|pass (?:number|no)|travel doc(?:ument)?|{spoken('PASSPORT')})", r"(?=[A-Z0-9]{0,8}\d)[A-Z]{0,3}[0-9A-Z]{5,9}\b",
              0.85, _is_passport),
    )),
    Type("DRIVER_LICENSE", "national_id", "Driver's licence, by the words before it", (
        after(rf"(?:driv(?:er|ing)(?:'?s)? licen[cs]e|dl|fuhrerschein|permis de conduire|permiso de conducir|licencia de conducir|patente|"
              rf"carta de conducao|rijbewijs|prawo jazdy|prawa jazdy|driver(?:'?s)? id|driv(?:er|ing)(?:'?s)? lic|fuehrerschein|carnet de conducir|patente di guida|cnh|dvla|{spoken('DRIVER_LICENSE')})", r"[A-Z0-9](?:[ -]?[A-Z0-9]){5,17}\b", 0.8, lambda v: is_number(v) and sum(c.isdigit() for c in v) >= 3),
    )),
    Type("TAX_ID", "national_id", "Tax or identity number of any country, by the words before it", (
        after(r"(?:tax(?:payer)?(?: identification)?(?: number| id| no)|national id(?:entity)?(?: card)?|identity card|personalausweis|"
              rf"ausweisnummer|carte d.identite|carta d.identita|identiteitskaart|ein|nip|dow.d osobisty|seguridad social|rentenversicherungs-?n(?:r|ummer)|voter id|{spoken('TAX_ID')})",
              r"[A-Z0-9](?:[ -]?[A-Z0-9]){6,15}\b", 0.7, lambda v: is_number(v) and sum(c.isdigit() for c in v) >= 5 and varied(v)),
    )),
)  # fmt: skip
