"""Invented people: names in six languages, addresses, and what reaches somebody."""

from __future__ import annotations

from random import Random

from support.redaction.chance import DIGITS, day, number, pick

GIVEN = {
    "en": ["Oliver", "Emily", "Harry", "Rebecca", "Nathan", "Hannah", "Stephen", "Abigail", "Gregory", "Megan"],
    "de": ["Jürgen", "Sabine", "Matthias", "Heike", "Günter", "Katharina", "Wolfgang", "Birgit", "Lukas", "Anja"],
    "fr": [
        "François",
        "Amélie",
        "Guillaume",
        "Hélène",
        "Étienne",
        "Mathilde",
        "Sébastien",
        "Odile",
        "Thierry",
        "Céline",
    ],
    "es": ["José", "Lucía", "Álvaro", "Inés", "Rubén", "Beatriz", "Gonzalo", "Raquel", "Andrés", "Nuria"],
    "it": ["Giuseppe", "Chiara", "Matteo", "Francesca", "Lorenzo", "Ilaria", "Davide", "Giulia", "Salvatore", "Elisa"],
    "pt": ["João", "Mariana", "Thiago", "Letícia", "Gonçalo", "Fernanda", "Rodrigo", "Luciana", "Tiago", "Larissa"],
}
SURNAME = {
    "en": ["Thompson", "Carter", "Brooks", "O'Brien", "Whitfield", "Harrington", "Bennett", "Ashworth", "Sullivan"],
    "de": ["Müller", "Schröder", "Vogelsang", "Hoffmann", "Kiesewetter", "Brandt", "Zimmermann", "Lehmann", "Weiß"],
    "fr": ["Lefèvre", "Dubois", "Moreau", "de la Tour", "Garnier", "Beaulieu", "Rousseau", "Chevalier", "Girard"],
    "es": ["García", "Fernández Ruiz", "Gutiérrez", "Iglesias", "del Castillo", "Ortega", "Montalbán", "Núñez"],
    "it": ["Rossi", "Lombardi", "De Santis", "Moretti", "Bellini", "Conti", "Ferraro", "Marchetti", "Rinaldi"],
    "pt": ["Oliveira", "dos Santos", "Carvalho", "Figueiredo", "Gonçalves", "Teixeira", "Ribeiro", "Moreira"],
}
CITY = {"en": "Leeds", "de": "Köln", "fr": "Lyon", "es": "Sevilla", "it": "Torino", "pt": "Braga"}
LANGUAGES = tuple(GIVEN)
DOMAINS = ("example.com", "example.org", "mail.example.net", "sub.example.co.uk", "firma.example")


def person(random: Random, language: str = "en") -> str:
    return f"{random.choice(GIVEN[language])} {random.choice(SURNAME[language])}"


def address(random: Random, language: str = "en") -> str:
    n = random.randint(1, 240)
    name = random.choice(["Linden", "Victoria", "Garden", "Mill", "Church", "Station"])
    return {
        "en": f"{n} {name} {random.choice(['Street', 'Road', 'Avenue', 'Lane', 'Drive'])}",
        "de": f"{random.choice(['Garten', 'Haupt', 'Linden', 'Bahnhof'])}{random.choice(['straße', 'weg', 'platz'])} {n}",
        "fr": f"{n} {random.choice(['rue', 'avenue', 'boulevard'])} {random.choice(['de la République', 'Victor Hugo', 'du Moulin'])}",
        "es": f"{random.choice(['Calle', 'Avenida', 'Plaza'])} {random.choice(['Mayor', 'de Alcalá', 'del Prado'])} {n}",
        "it": f"{random.choice(['Via', 'Viale', 'Piazza'])} {random.choice(['Roma', 'Garibaldi', 'della Repubblica'])} {n}",
        "pt": f"{random.choice(['Rua', 'Avenida', 'Travessa'])} {random.choice(['Augusta', 'das Flores', 'da Liberdade'])} {n}",
    }[language]


def email(random: Random) -> str:
    user = random.choice(["j.doe", "anna.k", "sales+eu", "x_9", "first-last", "o'neil", "info2024", "a"])
    return f"{user}{random.randint(1, 99)}@{random.choice(DOMAINS)}"


_REACHED = {
    "44": "7911",
    "49": "1512",
    "33": "612",
    "34": "612",
    "39": "347",
    "351": "912",
    "31": "612",
    "41": "791",
    "81": "901",
}


def phone(random: Random) -> str:
    form = random.randrange(4)
    if form == 0:
        return f"({random.randint(201, 989)}) 555-01{random.randint(10, 99)}"
    if form == 1:
        return f"+1 {random.choice(['212', '415', '646'])} 555 01{random.randint(10, 99)}"
    code = random.choice(list(_REACHED))
    size = {"44": 10, "49": 11, "33": 9, "34": 9, "39": 10, "351": 9, "31": 9, "41": 9, "81": 10}[code]
    rest = _REACHED[code] + pick(random, DIGITS, size - len(_REACHED[code]))
    if code == "81":
        rest = "90" + number(random, 8)
    if form == 2:
        return f"+{code}{rest}"
    return f"+{code} {rest[:3]} {rest[3:6]} {rest[6:]}"


def birth_date(random: Random) -> str:
    born = day(random)
    month = born.strftime("%B")
    return random.choice([born.isoformat(), f"{born:%d.%m.%Y}", f"{born:%m/%d/%Y}", f"{born.day} {month} {born.year}"])
