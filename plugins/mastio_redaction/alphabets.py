"""Labels in other alphabets, and the words and signs around them, read as the Latin words that the rules know.

Pure. A text is read after folding (`mastio.decoding.fold`), where Cyrillic and Greek letters that look Latin are Latin
already; the words below are folded the same way. `read` returns a view in which `пароль: …` is `password: …`, and in
which a space stands between Latin and other letters, so that a value ends where its word ends. Linear in the text.
"""

from __future__ import annotations

import re

from mastio.decoding import View, fold

from .expressions import trie

_LABELS = {
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

_AROUND = {
    "is": "это является есть 是 为 為 は 이다 είναι ειναι", "my": "мой моя мое моё моего моей мои 我的 私の 내 제 μου",
    "is the": "が", "of": "の 的", "new": "новый новая новое 新 新しい", "to": "на",
}  # fmt: skip


def _lexicon() -> dict[str, str]:
    words: dict[str, str] = {}
    for latin, said in (*_AROUND.items(), *_LABELS.items()):
        for word in said.split():
            folded = word.replace("_", " ").lower()
            view = fold(folded)
            words[folded if view is None else view.text.lower()] = latin
    return words


_LEXICON = _lexicon()
_OTHER = re.compile("[\u0370-\uffff]")
_IDEOGRAPHS = "\u0e00-\u0e7f\u1100-\u11ff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af\uff66-\uff9f"
_ANY_LABEL = re.compile(trie(sorted(word for word, latin in _LEXICON.items() if latin not in _AROUND)))
_BESIDE = re.compile(rf"[{_IDEOGRAPHS}][0-9A-Za-z][0-9A-Za-z @._-]{{4}}|[0-9A-Za-z]{{5}}[{_IDEOGRAPHS}]")
"""A value without a space between it and other letters."""

_FIRST_IDEOGRAPH = "\u0e00"

_PIECE = re.compile(
    rf"(?i:(?P<word>(?:(?<![^\W_])|(?=[{_IDEOGRAPHS}]))(?:{trie(sorted(_LEXICON))})"
    rf"(?:(?<=[{_IDEOGRAPHS}])|(?![^\W\d_]))))"
    rf"|(?<=[!-~])(?P<edge>)(?=[{_IDEOGRAPHS}])|(?<=[{_IDEOGRAPHS}])(?P<other>)(?=[0-9A-Za-z])"
)


def _has_label(folded: str) -> bool:
    return any(
        match[0] >= _FIRST_IDEOGRAPH or not folded[match.start() - 1 : match.start()].isalpha()
        for match in _ANY_LABEL.finditer(folded.lower())
    )


def read(text: str, folded: str) -> View | None:
    """A text, `folded`, with Latin words for the labels in it; None where it has no other alphabet."""
    if _OTHER.search(text) is None:
        return None
    if not _has_label(folded) and _BESIDE.search(folded) is None:
        return None
    view = View("")
    pieces: list[str] = []
    done = length = 0
    for match in _PIECE.finditer(folded):
        start, end = match.span()
        before = folded[done:start] if start > done else pieces[-1] if pieces else ""
        latin = _LEXICON[match[0].lower()] if match["word"] else ""
        if before[-1:].isalnum() or (not latin and before[-1:] != " "):
            latin = f" {latin}"
        if match["word"] and folded[end : end + 1].isalnum():
            latin += " "
        pieces += (folded[done:start], latin)
        length += start - done
        view.change(length, length + len(latin), start, end)
        length += len(latin)
        done = end
    if not pieces:
        return None
    pieces.append(folded[done:])
    view.text = "".join(pieces)
    return view
