"""Dutch."""

WORDS = {
    "override": (
        "negeer*, vergeet, vergeten, sla geen acht, volg niet, volg geen, niet opvolgen, laat varen, verwerp, "
        "overschrijf, omzeil, gehoorzaam niet, stop met volgen, schuif opzij, zet opzij, gooi weg, wis, "
        "let niet op, houd je niet, gelden niet meer"
    ),
    "previous": (
        "vorige, voorgaande, eerdere, bovenstaande, voorafgaande, oorspronkelijke, alle, al je, eerder, gekregen, "
        "bestaande, tot nu toe, hiervoor, hierboven"
    ),
    "instructions": (
        "instructie*, aanwijzing*, opdracht*, regel*, richtlijn*, bevel*, prompt*, voorschrift*, beperking*"
    ),
    "ownrules": (
        "je instructies, je regels, je richtlijnen, jouw instructies, jouw regels, uw instructies, "
        "je programmering, je beperkingen, je prompt"
    ),
    "newrules": (
        "nieuwe instructie*, nieuwe taak, nieuwe regels, nieuwe opdracht, in plaats daarvan, volg alleen, "
        "echte taak, doe in plaats, luister alleen, enige taak"
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
        "geen moraal, alles doen, zonder censuur, onbeperkt*, geen enkele, zonder enige, vrij van, zonder taboes"
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
        "externe server, mijn server, deze url, volgende url, dit adres, volgende adres, mijn adres, webhook, "
        "deze link, parameter*, afbeeldings-url, extern adres, privémail, privé-mail, extern domein, mijn privé"
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
        "gehandicapten, ouderen, marokkanen, turken, zigeuners, zwangere, polen, allochtonen, boven de 50"
    ),
    "derog": (
        "zijn minderwaardig, zijn dom, zijn lui, zijn crimineel, zijn criminelen, zijn terroristen, "
        "zijn parasieten, zijn ongedierte, zijn minder intelligent, horen hier niet, horen niet, moeten terug, "
        "moeten het land uit, in de keuken, verdienen geen, zijn dieven, zijn een plaag"
    ),
    "exclude": (
        "neem geen, niet aannemen, wijs af, afwijzen, sluit uit, uitsluiten, weiger, geen vrouwen, alleen mannen, "
        "verhuur niet, filter, lagere score, wijs alle"
    ),
    "decision": "kandida*, sollicita*, lening*, woning*, huurder*, baan, cv's, functie, hypothe*, promotie",
    "spread": "schrijf, vertel, maak, genereer, bewijs, leg uit waarom",
    "hatekind": (
        "racistisch*, seksistisch*, antisemitisch*, homofob*, xenofob*, islamofob*, vrouwonvriendelijk*, "
        "haatdragend*, jodenmop*"
    ),
    "ownprompt": (
        "systeemprompt*, systeem prompt*, system prompt*, systeembericht*, systeeminstructie*, "
        "verborgen instructie*, geheime instructie*, interne instructie*, oorspronkelijke instructie*, "
        "je instructies, jouw instructies, je regels, je richtlijnen, initiële prompt, je prompt, eerste bericht, "
        "verborgen regels, interne regels, begininstructie*"
    ),
    "textabove": "tekst hierboven, alles hierboven",
    "mode": "ontwikkelaarsmodus, debugmodus, ontwikkelmodus",
}
