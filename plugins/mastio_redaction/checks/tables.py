"""Tables: lengths of IBANs, codes of countries, small words. Pure."""

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
"""The first letters of the months in seven languages, without accents."""

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

_COMMON_PASSWORDS = """
qwerty qwertz azerty qwertyuiop asdfgh asdfghjkl zxcvbn zxcvbnm abcdef letmein iloveyou sunshine monkey dragon football baseball
basketball superman batman trustno princess hunter starwars pokemon butterfly cheese chocolate freedom
ginger jordan killer liverpool chelsea arsenal barcelona matrix mustang ninja pepper purple ranger soccer summer
winter tigger qazwsx correcthorse correcthorsebatterystaple hallo schatz sommer fussball
doudou soleil chouchou estrella juventus welkom
"""
COMMON_PASSWORDS = frozenset(_COMMON_PASSWORDS.split())
"""Words that published lists of leaked passwords begin with, and that are not words about passwords."""

_AFTER_USER_NAME = """
the this that they all and are but can for from has its not one our was who will with you your must may should when self cls
user users userid user_id username user_name login name email event request req res ctx context config args kwargs options
opts params props session settings env environ body data input payload form row record obj item str string text int integer
bigint varchar uuid number any none null nil undefined true false required optional unknown invalid missing set found given used needed valid taken available correct page button
see log sign failed failure successful success via using await password passwd screen prompt shell account process.env os.environ
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

_LEADING = """
is are was were be been being equals equal reads read says say shows remains becomes now still namely follows following
it its s ist sind war sei lautet lauten heisst bleibt wird wurde folgt folgende folgenden gilt
est sont etait sera devient reste suivant suivante voici es son era sera sigue siendo siguiente
e sono sara resta seguente zijn wordt luidt blijft volgt volgende foi continua jest byl byla bedzie brzmi wynosi
to as from by into no nr num number nummer numero # of with under auf zu als von unter mit par comme sous au por como con bajo a al da
come sotto per van naar door onder para com sob z na jako pod de do het le la el il der die das the o begins ends set changed
hei\xdft habe ich hatte updated enter entered use used uses type typed provided given gave sent tell told
"""
LEADING = frozenset(_LEADING.split())
"""Words right before a value."""

_TYPES = """
str string text varchar char const static final let var val public private protected readonly mut int integer number long
object any optional option as type example default sample value val data content b f r u n l s xs xsd
"""
TYPES = frozenset(_TYPES.split())
"""Words that say of what type a value is."""

_LINKING = """
is was as are were be being should would must will ist war sei lautet als als est etait comme es era como e sono sara come
zijn wordt foi sera to jest byl jako for fur pour para per voor dla into in im dans en nel under unter sous bajo sotto onder pod
given used known recorded entered registered listed set stored kept us them him her me on at unter fuer belongs
"""
_ARTICLES = """
the a an my our your his her their its this that new old correct right current actual customer's client's user's mein meine meinen
die der das den dem unser unsere ihre ihr ihren sein seine neue neuer neues mon ma mes le la les notre votre leur son sa nouveau
el la mi su nuestro nuestra nuevo nueva il lo mio mia suo sua nuovo nuova het de mijn uw zijn haar nieuwe o a os as meu minha seu sua novo
moj moja moje twoj jego jej nowy nowe nowa field box column un une una uno
"""
LINKING = frozenset(_LINKING.split())
LINKS_BACK = LINKING | frozenset(_ARTICLES.split())
"""Words between a value and the label behind it, one of `LINKING` at least."""
