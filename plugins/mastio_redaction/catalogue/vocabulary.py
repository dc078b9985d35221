"""Labels of values in the languages of Europe, by type, for the rules that need one. Data.

Folded as texts are: small letters, no accents. A space also stands for `_` or `-`, or for nothing. What says only that it
is a number (`number`, `Nr.`, `code`) is left out: a rule reads it behind any label. Other alphabets: `alphabets.py`.
"""

from __future__ import annotations

_WORDS = {
    "PASSWORD": "lozinka, losenord, adgangskode, salasana, jelszo, sifre, heslo, contrasenya, codigo de acceso, code d.acces, "
    "zugangscode, pass phrase, pass code, motdepasse, contrasenha, parola di accesso, kodeord, passord, slaptazodis, parool, geslo",
    "SECRET": "jeton d.acces, jeton, zugriffstoken, zugangstoken, zugriffsschlussel, geheimschlussel, geheimer schlussel, "
    "token de acceso, token di accesso, toegangstoken, token de acesso, token dostepu, clave de api, clave secreta, chave de api, "
    "chave secreta, cle d.api, cle secrete, chiave segreta, geheime sleutel, klucz tajny, private token, shared key, session key, app key, "
    "master key, account key, deploy key, license key, hmac key, subscription key",
    "PHONE_NUMBER": "contact no, contact tel, hotline, cellphone, mobilnummer, mobiele, telefonnummer, telefonnr, mobilni, telefono movil, "
    "telefone celular, telefoonnr, puhelin, puhelinnumero, telefonszam, mobilszam, rufnr, handynr, numer kontaktowy, "
    "telefon komorkowy, tel nr, landline, whatsapp, nr tel, festnetz, fixe, tlf, tfno, fono",
    "BANK_ACCOUNT": "bankkonto, rachunek, rachunku, numer rachunku, nr rachunku, numero de cuenta, bankrekening, konto bankowe, bank acct, a/c, "
    "konto bancario, giro, girokonto, clabe, szamlaszam, tilinumero, kontonr, bankgiro, racun, cislo uctu, compte courant",
    "PASSPORT": "passport book, passaport, passnummer, passnr, pasnummer, paszport, passi, pasaport, pasos, utlevel, cestovni pas",
    "DRIVER_LICENSE": "carne de conducir, carnet de conduire, licence de conduire, numero de permis, numero di patente, rijbewijsnr, "
    "licen[cs]e (?:number|num|no|nr|id), fuhrerscheinnr, fuhrerausweis, korkort, kjorekort, ajokortti, vezetoi engedely, permis auto, habilitacao",
    "TAX_ID": "id card, identity number, identity document, tin, utr, unique taxpayer reference, employer identification, taxpayer, taxpayer id, "
    "tax identification, tax reference, fiscal number, steuernummer, steuernr, st-?nr, numero fiscal, numero fiscale, "
    "identification fiscale, codice identificativo fiscale, identificacion fiscal, numero de identificacion, numero di identificazione fiscale, "
    "fiscaal nummer, belastingnummer, id kaart, personalausweisnummer, personalausweisnr, carte nationale d.identite, cni, "
    "documento de identidad, documento di identita, documento de identidade, cedula, cedula de identidad, cedula de ciudadania, "
    "dowod osobisty, numer dowodu, seria dowodu, nip, regon, numer identyfikacji podatkowej, cif, siren, siret, rfc, adoszam, henkilokortti, "
    "social number, national number, citizen id, resident permit, residence permit, aufenthaltstitel, titre de sejour, permesso di soggiorno",
    "MEDICAL_RECORD_NUMBER": "dossier medical, historia clinica, cartella clinica, patientennr, medical id, medical no, "
    "hospital id, case history, numero de paciente, numero paziente, patientnr, krankenakte, karta pacjenta",
    "HEALTH_INSURANCE_ID": "policy (?:no|nr|num|id), policy holder id, member (?:no|nr|number), insurance (?:no|nr|number|card), insured id, subscriber "
    "(?:id|no|number), krankenversichertennummer, krankenkassennummer, kvnr, versichertennr, versicherten-?(?:nr|nummer|id), versicherungsschein, "
    "numero de mutuelle, numero d.adherent, numero assicurato, polisnummer, verzekeringsnummer, numer polisy, poliza, numero de poliza, "
    "numero di polizza, apolice, numero de police, afiliado, numero de afiliado, plan member",
    "LICENSE_PLATE": "vehicle registration, vrm, reg plate, amtliches kennzeichen, nummernschild, plaque d.immatriculation, plaque, placa, "
    "chapa, numer rejestracyjny, tablica rejestracyjna, nummerplaat, registreringsnummer, rendszam",
    "CARD_SECURITY_CODE": "cvv code, cvc code, cvx, cid code, code de securite, codigo de seguridad, codice di sicurezza, beveiligingscode, "
    "codigo de seguranca, kod cvv, sicherheitscode, kartenprufziffer",
    "CARD_EXPIRY": "ablaufdatum, date d.expiration, fecha de caducidad, fecha de vencimiento, data di scadenza, vervaldatum, data de validade, "
    "data waznosci, expires (?:on|end), good thru, verfallsdatum, gultig",
    "DATE_OF_BIRTH": "birth date, birthdate, dateofbirth, ne le, date naiss, data nasc, fecha nac, geb dat, f nacimiento, szuletesi datum, "
    "datum narozeni, datum rodenja, dogum tarihi, data nasterii, gimimo data",
    "VAT_NUMBER": "vat reg, vat registration, umsatzsteuer-?id-?(?:nr|nummer)?, umsatzsteueridentifikationsnummer, ust-?id-?nr, numero de tva, "
    "numero iva, nif-iva, btw-?(?:id|nr|nummer), nip ue, tax id eu, mwst-?nr, moms, alv, numer vat",
    "USERNAME": "nom d.usager, identifiant, nombre usuario, nome de utilizador, nome de usuario, uzytkownik, brukernavn, anvandarnamn, "
    "benutzerkennung, inlognaam, account login, login name",
    "BIC_CODE": "swift/bic, bic/swift, kod bic, code bic, codigo bic, codice bic",
}


def spoken(kind: str) -> str:
    """The words of a type as alternatives of an expression."""
    return "|".join(word.strip() for word in _WORDS[kind].split(", ") if word.strip())
