"""Dutch."""

WORDS = {
    "override": (
        "negeer*, vergeet, vergeten, sla geen acht, volg niet, volg geen, niet opvolgen, laat varen, verwerp, "
        "overschrijf, omzeil, gehoorzaam niet, stop met volgen, schuif opzij, zet opzij, gooi weg, wis, "
        "let niet op, houd je niet"
    ),
    "previous": (
        "vorige, voorgaande, eerdere, bovenstaande, voorafgaande, oorspronkelijke, alle, al je, eerder, gekregen, "
        "bestaande, tot nu toe, hiervoor, hierboven, opgedragen"
    ),
    "instructions": (
        "instructie*, aanwijzing*, opdracht*, regel*, richtlijn*, bevel*, prompt*, voorschrift*, beperking*, "
        "wat je, opgedragen"
    ),
    "ownrules": (
        "je instructies, je regels, je richtlijnen, jouw instructies, jouw regels, uw instructies, "
        "je programmering, je beperkingen, je prompt"
    ),
    "newrules": (
        "nieuwe instructie*, nieuwe taak, nieuwe regels, nieuwe opdracht, volg alleen, echte taak, luister alleen, "
        "enige taak"
    ),
    "fromnow": "vanaf nu, van nu af aan, voortaan, met ingang van nu, vanaf dit moment",
    "assistant": (
        "ai-assistent*, ai assistent*, assistent*, taalmodel*, chatbot*, ai-model*, ai-agent*, de ai, een ai, "
        "elke ai, kunstmatige intelligentie"
    ),
    "address": (
        "opmerking voor, bericht voor, bericht aan, let op, belangrijk, instructie voor, instructies voor, "
        "als je een, aan alle, notitie voor, boodschap"
    ),
    "must": "moet, moeten, dient, gelieve, verplicht, zou moeten",
    "hide": (
        "zonder de gebruiker, zonder het te zeggen, vertel de gebruiker niet, zeg niets, zeg het niet, "
        "vermeld niet, stiekem, heimelijk, in het geheim, onopgemerkt, zonder te vragen, stilletjes, "
        "zonder te melden, zonder medeweten, meld dit niet"
    ),
    "youare": (
        "je bent nu, jij bent nu, u bent nu, doe alsof, gedraag je, speel de rol, stel je voor dat je, handel als, "
        "simuleer, word, antwoord als, kruip in de huid, neem de rol, speel een, jij speelt, reageer als"
    ),
    "unbound": (
        "zonder beperking*, geen beperking*, zonder regels, geen regels, ongefilterd*, ongecensureerd*, "
        "zonder filter*, geen filter*, zonder grenzen, geen grenzen, geen ethi*, zonder ethi*, zonder moraal, "
        "geen moraal, alles doen, zonder censuur, onbeperkt*, geen enkele, zonder enige, vrij van, zonder taboes, "
        "geen geweten, kent geen"
    ),
    "disable": (
        "schakel, uitschakel*, deactiveer, omzeil*, verwijder, negeer*, zet uit, uitzetten, hef op, vergeet, laat los"
    ),
    "safety": (
        "veiligheidsfilter*, filters, veiligheid*, ethi*, moraal, morele, censuur, contentbeleid, inhoudsbeleid, "
        "beveiliging*, bescherming*, veiligheidsregels"
    ),
    "norefuse": (
        "weiger nooit, nooit weigeren, zonder waarschuwing*, geen waarschuwing*, ook als het illegaal, "
        "zelfs als het illegaal, op elke vraag, elke vraag, mag niet weigeren, zonder te weigeren, zeg nooit nee, "
        "alle vragen, zelfs als ze illegaal, zonder preek*"
    ),
    "harm": (
        "illega*, gevaarlijk*, bom, bommen, explosie*, drugs, wapen*, verboden, schadelijk*, hacken, gif, "
        "immoreel*, malware, stelen, onethisch*, molotov"
    ),
    "howto": "hoe maak, hoe je, hoe ik, recept, stap voor stap, handleiding",
    "pretext": "hypothetisch*, fictie*, mijn oma, mijn overleden, rollenspel, denkbeeldig*, voor mijn roman",
    "persona": "godmodus, jailbreakmodus, dan-modus, kwaadaardige ai",
    "modeon": "activeer, schakel over, ga naar, je bent nu, zet aan, start, schakel",
    "reveal": (
        "toon, onthul*, laat zien, laat me, geef, print, herhaal, schrijf, vertel me, noem, deel, kopieer, wat is, "
        "wat zijn, citeer, vertaal, vat samen, openbaar, wat staat"
    ),
    "verbatim": "woord voor woord, letterlijk, volledig, exact, precies, in zijn geheel, compleet, codeblok, onverkort",
    "send": (
        "stuur*, verstuur*, verzend*, post, upload*, mail*, zend, plaats, voeg, codeer, roep aan, zet in, lek, "
        "doorsturen, plak"
    ),
    "data": (
        "gesprek*, chatgeschiedenis, klantgegevens, wachtwoord*, inloggegevens, api-sleutel*, geheimen, "
        "gebruikersgegevens, persoonsgegevens, omgevingsvariabelen, contacten, bestanden, privésleutel*, "
        "creditcard*, database, berichten van, inbox, e-mails, klantenlijst, bankgegevens, geschiedenis"
    ),
    "outside": (
        "externe server, mijn server, mijn adres, extern adres, privémail, privé-mail, extern domein, mijn privé"
    ),
    "iam": "ik ben, dit is, hier is, namens, als, wij zijn, ik werk",
    "authority": (
        "beheerder*, administrator, admin, ontwikkelaar*, je maker, directeur, ceo, beveiligingsteam, it-afdeling, "
        "helpdesk, politie, systeembeheerder*, hoofd beveiliging, securityteam"
    ),
    "demand": (
        "geef me, geef mij, verleen*, ontgrendel*, schakel, toegang, autoriseer, reset, stuur me, toon me, "
        "keur goed, maak over, verwijder, hef, open"
    ),
    "sensitive": (
        "wachtwoord*, toegang, account*, inloggegevens, rechten, gegevens, betaling, controle, beperkingen, "
        "database, limieten, filters, verificatie"
    ),
    "noverify": (
        "zonder verificatie, zonder controle, niet controleren, hoeft niet te controleren, geen vragen, "
        "al goedgekeurd, ik ben bevoegd, ben gemachtigd, vertrouw me, geen tijd, stel geen vragen, zonder ticket"
    ),
    "urgency": "dringend, onmiddellijk, direct, meteen, noodgeval, spoed, nu meteen",
    "willdo": "ik ga, ik zal, we gaan, ik wil, wij zullen, ik maak",
    "violence": (
        "vermoorden, doden, neersteken, neerschieten, in elkaar slaan, opblazen, in brand steken, wurgen, afmaken, "
        "je benen breken, maak je af, vergiftigen, je kapot, pijn doen, doodmaken"
    ),
    "target": (
        "je, jou, jullie, je familie, je kinderen, je huis, hem, haar, iedereen, de school, mijn baas, mijn buurman"
    ),
    "menace": (
        "je zult er spijt van, je krijgt er spijt van, ga je spijt van krijgen, je bent dood, "
        "ik weet waar je woont, we weten waar je woont, je gaat boeten, laatste waarschuwing, "
        "je dagen zijn geteld, ik vind je, je gaat eraan, kijk maar uit, je gaat sterven"
    ),
    "extort": "bitcoin, losgeld, betaal, anders, als je niet betaalt, binnen 48 uur",
    "damage": (
        "publiceer, publiceren, je foto's, je bestanden, je vrouw, je gegevens, je reputatie, versleuteld, lekken"
    ),
    "marking": (
        "strikt vertrouwelijk, vertrouwelijk niet, alleen voor intern gebruik, uitsluitend voor intern gebruik, "
        "niet verspreiden, bedrijfsgeheim, niet voor externe, niet doorsturen buiten"
    ),
    "secretthing": (
        "broncode, salarissen, klantenlijst, bedrijfsgeheim*, privésleutel*, interne documenten, "
        "personeelsdossier*, inkoopprijzen, recept, overnameplannen, wachtwoorden"
    ),
    "confwant": "geef me, geef mij, toon me, stuur me, laat me, deel, lek, bezorg me",
    "theirs": "concurren*, vertrouwelijk*, intern*, geheim*, bedrijf*, niet gepubliceerd*, vorige werkgever",
    "group": (
        "vrouwen, mannen, moslims, joden, zwarten, buitenlanders, immigranten, migranten, vluchtelingen, homo's, "
        "gehandicapten, ouderen, marokkanen, turken, zigeuners, zwangere, polen, allochtonen, boven de 50, vrouw, "
        "moslima's, zwarte, surinamers, joodse, hoofddoek, asielzoekers, dikke mensen, buitenlandse namen"
    ),
    "derog": (
        "zijn minderwaardig, zijn dom, zijn lui, zijn crimineel, zijn criminelen, zijn terroristen, "
        "zijn parasieten, zijn ongedierte, zijn minder intelligent, horen hier niet, horen niet, moeten terug, "
        "moeten het land uit, in de keuken, verdienen geen, zijn dieven, zijn een plaag"
    ),
    "exclude": (
        "neem geen, niet aannemen, wijs af, afwijzen, sluit uit, uitsluiten, weiger, geen vrouwen, alleen mannen, "
        "verhuur niet, filter, lagere score, wijs alle, nodig niet uit, onderaan, achteraan, vermijd, "
        "alleen nederlanders, lagere beoordeling"
    ),
    "decision": (
        "kandida*, sollicita*, lening*, woning*, huurder*, baan, cv's, functie, hypothe*, promotie, sollicitatie*, "
        "werk, huis, kamer, verhuren, aannemen, klanten"
    ),
    "spread": "schrijf, vertel, maak, genereer, bewijs, leg uit waarom",
    "hatekind": (
        "racistisch*, seksistisch*, antisemitisch*, homofob*, xenofob*, islamofob*, vrouwonvriendelijk*, "
        "haatdragend*, jodenmop*"
    ),
    "ownprompt": (
        "systeemprompt*, systeem prompt*, systeembericht*, systeeminstructie*, verborgen instructie*, "
        "geheime instructie*, interne instructie*, oorspronkelijke instructie*, je instructies, jouw instructies, "
        "je regels, je richtlijnen, initiële prompt, je prompt, eerste bericht, verborgen regels, interne regels, "
        "begininstructie*"
    ),
    "textabove": "tekst hierboven, alles hierboven",
    "mode": "ontwikkelaarsmodus, debugmodus, ontwikkelmodus",
    "instead": "in plaats daarvan, doe in plaats",
    "invalid": (
        "gelden niet meer, geldt niet meer, zijn ongeldig, ongeldig, vervallen, tellen niet, "
        "niet meer van toepassing, ingetrokken, verouderd"
    ),
    "obeyme": (
        "luister naar mij, luister alleen, alleen naar mij, wat ik zeg, mijn bevelen, gehoorzaam mij, "
        "je werkt voor mij, doe wat ik"
    ),
    "given": "die je hebt gekregen, je hebt gekregen, aan het begin, je ontwikkelaar, voor dit gesprek, gegeven heeft",
    "instructions2": "instructie*, regels, tekst, bericht, alles, richtlijnen",
    "anyask": "op alles, alles wat ik vraag, elk verzoek",
    "assault": (
        "ik/we maak/maken je/hem/haar af/kapot, vermoord/steek/schiet/sla je/hem/haar/jullie, "
        "steek je/jullie/zijn huis/auto in brand, breek je/zijn/haar benen/nek/botten"
    ),
    "trait": (
        "criminelen, dieven, lui, dom, dommer, minderwaardig, vies, terroristen, parasieten, ongedierte, "
        "gevaarlijk, leugenaars, zwak, profiteurs"
    ),
    "joke": "grap over, grappen over, mop over, moppen over, mop over joden",
    "echo": "herhaal, kopieer, toon",
    "say": "beveel*, antwoord*, beoordeel*, schrijf",
    "only": "vijf sterren, alleen, uitsluitend, positieve",
    "task": "je taak, de taak",
    "place2": "deze url, volgende url, dit adres, volgende adres, webhook, deze link, parameter*, afbeeldings-url",
    "sysprompt": "system prompt*",
}
