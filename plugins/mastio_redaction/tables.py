"""Tables: lengths of IBANs, codes of countries, small words."""

from __future__ import annotations

IBAN_LENGTH = {
    code: int(length)
    for code, length in (
        pair.split(":")
        for pair in (
            "AD:24 AE:23 AL:28 AT:20 AZ:28 BA:20 BE:16 BG:22 BH:22 BI:27 BR:29 BY:28 CH:21 CR:22 CY:28 CZ:24 DE:22 DJ:27 "
            "DK:18 DO:28 EE:20 EG:29 ES:24 FI:18 FK:18 FO:18 FR:27 GB:22 GE:22 GI:23 GL:18 GR:27 GT:28 HN:28 HR:21 HU:28 "
            "IE:22 IL:23 IQ:23 IS:26 IT:27 JO:30 KW:30 KZ:20 LB:28 LC:32 LI:21 LT:20 LU:20 LV:21 LY:25 MC:27 MD:24 ME:22 "
            "MK:19 MN:20 MR:27 MT:31 MU:30 NI:28 NL:18 NO:15 OM:23 PK:24 PL:28 PS:29 PT:25 QA:29 RO:24 RS:22 RU:33 SA:24 "
            "SC:31 SD:18 SE:24 SI:19 SK:24 SM:27 SO:23 ST:25 SV:28 TL:23 TN:24 TR:26 UA:29 VA:22 VG:24 XK:20 YE:30"
        ).split()
    )
}
"""ISO 13616 registry: length by country."""

COUNTRIES = frozenset(
    "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC "
    "CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD "
    "GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH "
    "KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW "
    "MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC "
    "SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY "
    "UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW".split()
)
"""ISO 3166-1 alpha-2, and XK."""

LINKS = frozenset(
    "rue avenue boulevard bd place allee chemin impasse quai cours route passage square bis ter quater dei delle years "
    "year old y/o yo jahre alt ans anos anni edad idade eta jaar oud of n n.".split()
)
"""Small words that stand inside an address, a date or an age, and never begin one."""

MONTHS = tuple(
    "jan feb fev mar apr avr abr mai may jun jui jul aou aug ago sep set oct okt out ott nov dec dez dic ene gen giu "
    "lug mag mei maa".split()
)
"""How the months of seven languages begin, without accents."""

NOT_PASSWORDS = frozenset(
    {
        "required",
        "optional",
        "string",
        "reset",
        "changed",
        "expired",
        "incorrect",
        "invalid",
        "wrong",
        "missing",
        "hash",
    }
)
"""Words that follow the word password."""

_AFTER_USER_NAME = """
the this that they all and are but can for from has its not one our was who will with you your must may should when self cls
user users userid user_id username user_name login name email event request req res ctx context config args kwargs options
opts params props session settings env environ body data input payload form row record obj item str string text int integer
bigint varchar uuid number any none null nil undefined true false required optional unknown invalid missing set found given used needed valid taken available correct page button
failed failure successful success via using await password passwd screen prompt shell account process.env os.environ
"""
NOT_USER_NAMES = frozenset(_AFTER_USER_NAME.split())
"""Words that follow the words user name, in manuals and programs."""

_ENDINGS = """
png jpg jpeg gif webp svg ico bmp avif css scss js mjs ts jsx tsx json html htm pdf txt csv xml yaml yml toml lock whl gz tgz
exe dll jar war
"""
FILE_ENDINGS = frozenset(_ENDINGS.split())
"""Endings of files that are no top-level domains."""

SOURCE_HOSTS = frozenset(("git", "hg", "svn"))
"""User names of programs that fetch source code: `git@host`."""
