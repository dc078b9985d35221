"""Labels of values in the languages of Europe, by type, for the rules that need one. Data. Pure.

Folded as texts are: small letters, no accents. A space also stands for `_` or `-`, or for nothing. What says only that it
is a number (`number`, `Nr.`, `code`) is left out: a rule reads it behind any label. `alphabets.py` reads the words of other alphabets.
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
    "numero d.assure, numero de mutuelle, numero d.adherent, numero assicurato, polisnummer, verzekeringsnummer, numer polisy, poliza, numero de poliza, "
    "numero di polizza, apolice, numero de police, afiliado, numero de afiliado, plan member",
    "LICENSE_PLATE": "vehicle registration, vrm, reg plate, amtliches kennzeichen, nummernschild, plaque d.immatriculation, plaque, placa, "
    "chapa, numer rejestracyjny, tablica rejestracyjna, nummerplaat, registreringsnummer, rendszam",
    "CARD_SECURITY_CODE": "cvv code, cvc code, cvx, cid code, code de securite, codigo de seguridad, codice di sicurezza, beveiligingscode, "
    "codigo de seguranca, kod cvv, sicherheitscode, kartenprufziffer",
    "CARD_EXPIRY": "ablaufdatum, date d.expiration, fecha de caducidad, fecha de vencimiento, data di scadenza, vervaldatum, data de validade, "
    "data waznosci, caducidad, vencimiento, vence, expira, expiracion, gultigkeit, validita, valido hasta, valido ate, valable jusqu.au, geldig tot, expires (?:on|end), good thru, verfallsdatum, gultig",
    "DATE_OF_BIRTH": "birth date, birthdate, dateofbirth, ne le, date naiss, data nasc, fecha nac, geb dat, f nacimiento, szuletesi datum, "
    "datum narozeni, datum rodenja, dogum tarihi, data nasterii, gimimo data",
    "VAT_NUMBER": "vat reg, vat registration, umsatzsteuer-?id-?(?:nr|nummer)?, umsatzsteueridentifikationsnummer, ust-?id-?nr, numero de tva, "
    "numero iva, nif-iva, btw-?(?:id|nr|nummer), nip ue, tax id eu, mwst-?nr, moms, alv, numer vat",
    "USERNAME": "nom d.usager, identifiant, nombre usuario, nome de utilizador, nome de usuario, uzytkownik, brukernavn, anvandarnamn, "
    "benutzerkennung, anmeldename, anmeldekennung, kennung, inlognaam, account login, login name, account name, user login",
    "BIC_CODE": "swift/bic, bic/swift, kod bic, code bic, codigo bic, codice bic",
}


def spoken(kind: str) -> str:
    """The words of a type as alternatives of an expression."""
    return "|".join(word.strip() for word in _WORDS[kind].split(", ") if word.strip())


OTHER_ALPHABETS = {
    "password": "пароль пароля паролем парола лозинка κωδικος_προσβασης 密码 密碼 口令 登录密码 パスワード 비밀번호 암호 "
    "كلمة_المرور كلمة_السر סיסמה סיסמא รหัสผ่าน पासवर्ड",
    "pin": "пин-код пин_код 暗証番号",
    "phone": "телефон телефона номер_телефона контактный_телефон мобильный мобильный_телефон тел. номер_телефону "
    "τηλεφωνο κινητο 手机 手机号 手机号码 电话 电话号码 联系电话 手機 手機號碼 電話 電話號碼 電話番号 携帯電話 携帯番号 携帯 "
    "連絡先 전화번호 휴대폰 휴대폰_번호 휴대전화 연락처 هاتف رقم_الهاتف الجوال טלפון נייד หมายเลขโทรศัพท์ เบอร์โทร फ़ोन",
    "passport": "паспорт паспорта номер_паспорта загранпаспорт серия_и_номер_паспорта διαβατηριο 护照 护照号 护照号码 護照 "
    "護照號碼 パスポート パスポート番号 旅券番号 여권 여권번호 جواز_السفر رقم_جواز_السفر דרכון",
    "tax id": "инн снилс рнокпп ипн αφμ 税号 納稅號 纳税人识别号 統一編號 マイナンバー 個人番号 사업자등록번호",
    "resident id": "身份证 身份证号 身份证号码 身分證字號 公民身份号码",
    "rrn": "주민등록번호 주민번호",
    "account number": "номер_счета номер_счёта расчетный_счет расчётный_счёт лицевой_счет λογαριασμος 账号 帐号 银行账号 "
    "银行账户 帳號 口座番号 口座 계좌번호 계좌 رقم_الحساب",
    "card number": "номер_карты банковская_карта 卡号 银行卡号 信用卡号 カード番号 카드번호",
    "date of birth": "дата_рождения дата_народження ημερομηνια_γεννησης 出生日期 生日 出生年月日 生年月日 誕生日 생년월일 "
    "تاريخ_الميلاد תאריך_לידה",
    "driver license": "водительское_удостоверение водительские_права водительского_удостоверения 驾驶证 驾驶证号 驾照 駕照 "
    "運転免許証 運転免許証番号 免許証番号 운전면허 운전면허번호",
    "api key": "апи-ключ апи_ключ api-ключ api_ключ ключ_api секретный_ключ api密钥 密钥 密鑰 apiキー シークレットキー api_키 "
    "비밀키",
    "access token": "токен токен_доступа 令牌 访问令牌 アクセストークン トークン 액세스_토큰 토큰",
    "username": "логин имя_пользователя ονομα_χρηστη 用户名 用戶名 账户名 ユーザー名 ユーザid 사용자명 사용자_이름 아이디",
    "license plate": "госномер номер_машины номерной_знак 车牌 车牌号 車牌 ナンバープレート 차량번호",
    "vat": "ндс_номер", "egn": "егн", "member id": "полис_омс номер_полиса 保険証番号 被保険者番号 医保卡号",
    "cvv": "код_безопасности セキュリティコード 安全码",
    "email": "почта эл._почта электронная_почта 邮箱 電子郵件 メールアドレス 이메일",
}  # fmt: skip
"""Words of other alphabets for labels, `_` for a space."""

AROUND_LABELS = {
    "is": "это является есть 是 为 為 は 이다 είναι ειναι", "my": "мой моя мое моё моего моей мои 我的 私の 내 제 μου",
    "is the": "が", "of": "の 的", "new": "новый новая новое 新 新しい", "to": "на",
}  # fmt: skip
"""Words and signs of other alphabets that stand beside labels."""
