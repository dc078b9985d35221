"""German."""

WORDS = {
    "override": (
        "ignorier*, vergiss, vergesst, vergessen sie, missacht*, verwirf, verwerfen, überschreib*, "
        "setz dich hinweg, lass außer acht, außer acht, befolge nicht, befolge keine, folge nicht, beachte nicht, "
        "nicht mehr beachten, übergeh*, streich*, lösche alle, halte dich nicht, hör auf, nicht länger befolgen, "
        "verwerfe, pfeif auf"
    ),
    "previous": (
        "vorherig*, bisherig*, früher*, vorangegangen*, obig*, vorig*, ursprünglich*, alle deine, all deine, "
        "alles, bestehend*, oben, zuvor, bis jetzt, bislang, die du bekommen hast, die du erhalten hast, "
        "anfänglich*, sämtlich*, vorangehend*, vorausgehend*, erhalten hast, gesagt wurde, davor, alten, alte, "
        "alter"
    ),
    "instructions": (
        "anweisung*, instruktion*, regel*, befehl*, vorgabe*, richtlinie*, vorschrift*, direktive*, prompt*, "
        "anordnung*, weisung*, einschränkung*, was dir gesagt, auftrag, aufträge"
    ),
    "ownrules": (
        "deine anweisungen, deine regeln, deine richtlinien, deine programmierung, deine vorgaben, "
        "deinen systemprompt, deine einschränkungen, ihre anweisungen, ihre richtlinien, deine instruktionen, "
        "deinen prompt, deine weisungen, deinen auftrag"
    ),
    "newrules": (
        "neue anweisung*, neue aufgabe, neue regeln, deine neue, dein neuer, neuer auftrag, befolge nur, nur noch, "
        "neue instruktion*, wahre aufgabe, eigentliche aufgabe, folge nur"
    ),
    "fromnow": "ab sofort, von nun an, ab jetzt, von jetzt an, fortan, ab diesem moment, für den rest",
    "assistant": (
        "ki-assistent*, ki assistent*, assistent*, sprachmodell*, chatbot*, ki-modell*, ki-system*, ki-agent*, "
        "die ki, eine ki, jede ki, agenten, das modell"
    ),
    "address": (
        "hinweis an, hinweis für, anweisung an, anweisung für, nachricht an, achtung, wichtig, notiz an, wenn du, "
        "falls du, an alle, botschaft an, sofern du, befehl an"
    ),
    "must": "muss, musst, müssen, sollst, soll, sollte, sollen, bitte, erforderlich, hat zu, haben zu",
    "hide": (
        "ohne dem nutzer, ohne den nutzer, dem nutzer nicht, dem benutzer nicht, ohne es zu erwähnen, heimlich, "
        "unbemerkt, nicht erwähnen, erwähne nicht, erwähne das nicht, sag dem nutzer nichts, im stillen, "
        "ohne nachzufragen, ohne rückfrage, nicht mitteilen, stillschweigend, nichts davon sagen, ohne wissen"
    ),
    "youare": (
        "du bist jetzt, du bist nun, du bist ab, tu so, verhalte dich, spiel die rolle, spiele die rolle, spiele, "
        "stell dir vor, agiere als, gib dich, du spielst, sei jetzt, schlüpf*, simuliere, antworte als, "
        "handle als, übernimm die rolle, werde zu, nimm die rolle, du heißt, spiel einen, spiel eine, "
        "du bist von nun"
    ),
    "unbound": (
        "ohne einschränkung*, keine einschränkung*, ohne regeln, keine regeln, unzensiert*, ungefiltert*, "
        "ohne filter, keine filter, ohne grenzen, keine grenzen, uneingeschränkt*, ohne ethisch*, keine ethisch*, "
        "ohne moral*, keine moral*, an nichts gebunden, ohne zensur, ohne richtlinien, keine richtlinien, "
        "alles tun, keinerlei, ohne jede, ohne tabus, ohne skrupel, hemmungslos, ohne leitplanken, "
        "ohne beschränkung*, keine moral kennt, kennt keine, bösen zwilling, böser zwilling, böse ki, "
        "keine regeln kennt, kein gewissen, ohne gewissen, alles darf, alles sagen darf, zensurfrei"
    ),
    "disable": (
        "deaktivier*, schalte, abschalten, ausschalten, umgeh*, entfern*, hebe, aufheben, hebel, ignorier*, "
        "abgeschaltet, vergiss, ausgeschaltet, lege ab, ablegen"
    ),
    "safety": (
        "sicherheitsfilter*, inhaltsfilter*, sicherheitsrichtlinie*, sicherheitsregel*, schutzmaßnahme*, ethik*, "
        "ethisch*, moral*, zensur, filter, leitplanken, sicherheitsvorkehrung*, sicherheitsmechanism*, "
        "schutzmechanism*, inhaltsrichtlinie*, sicherheitsvorgabe*, gewissen"
    ),
    "norefuse": (
        "niemals ablehnen, nie ablehnen, verweigere nie, verweigere niemals, ohne warnung*, keine warnung*, "
        "lehne nichts ab, lehnst nie, auch wenn es illegal, egal wie illegal, selbst wenn es illegal, "
        "darfst nicht ablehnen, ohne ausnahme, auf jede frage, jede frage, nicht weigern, ohne hinweise, "
        "beantwortest alles, niemals nein, nie nein, ohne belehrung*, egal wie gefährlich, "
        "selbst wenn sie illegal, auch wenn sie illegal"
    ),
    "harm": (
        "illegal*, gefährlich*, bombe*, sprengstoff*, drogen, waffe*, verboten*, schädlich*, hacken, "
        "schadsoftware, gift, unmoralisch*, unethisch*, stehlen, kriminell*, crystal meth, rohrbombe*, napalm"
    ),
    "howto": "wie man, wie ich, bauanleitung, anleitung, schritt für schritt, rezept",
    "pretext": (
        "hypothetisch, fiktiv*, meine oma, meine verstorbene, für meinen roman, rollenspiel, "
        "gute-nacht-geschichte, rein theoretisch, gedankenexperiment"
    ),
    "persona": "gottmodus, jailbreak-modus, dan-modus, böse ki",
    "modeon": "aktivier*, wechsle, schalte, gehe in, du bist jetzt, jetzt im, starte",
    "reveal": (
        "zeig*, verrat*, gib, nenne, nenn mir, drucke, wiederhole, schreib*, offenbar*, lies, liste, kopier*, "
        "wie lautet, wie lauten, was steht, was sind, ausgeben, teile mir, übersetze, zitiere, enthülle, "
        "preisgeben, fasse zusammen, sag mir"
    ),
    "verbatim": (
        "wortwörtlich, wort für wort, vollständig, wörtlich, exakt, im wortlaut, genau, komplett*, codeblock, "
        "unverändert, zeichen für zeichen, ungekürzt"
    ),
    "send": (
        "schick*, übermittl*, poste, lade hoch, hochladen, leite, weiterleiten, übertrag*, hänge, anhängen, "
        "einfügen, füge, bette, kodiere, rufe, ruf, abrufen, hinterlege, übermittle, veröffentlich*, lade, leg, "
        "lege, speichere, hochgeladen, abschicken, sende, sendet, senden, maile, mailt"
    ),
    "data": (
        "gesprächsverlauf*, chatverlauf*, unterhaltung*, kundendaten, zugangsdaten, passwort*, passwörter*, "
        "api-schlüssel*, geheimnisse, nutzerdaten, benutzerdaten, umgebungsvariable*, kontakte, dateien, "
        "privaten schlüssel, private schlüssel, kreditkarten*, nachrichten des, geheimen, kontodaten, datenbank*, "
        "systemprompt, posteingang, e-mails, kundenliste, patientendaten, personaldaten"
    ),
    "outside": (
        "externen server, meinen server, meine adresse, externe adresse, an mich, private e-mail, private mail, "
        "externe e-mail, private cloud, bildadresse, auf meinen server, auf den server, an diese, an folgende, "
        "an http, nach außen, fremden server"
    ),
    "iam": (
        "ich bin, hier ist, hier spricht, als, im auftrag, im namen, wir sind, ich arbeite, ich arbeite für, "
        "mein name ist, ich komme von, ich rufe"
    ),
    "authority": (
        "administrator*, admin, entwickler*, systemadministrator*, geschäftsführer*, ceo, vorstand*, it-abteilung, "
        "it-support, sicherheitsteam, polizei, systembetreiber, dein schöpfer, dein betreiber, it-sicherheit, "
        "revision, chef, leiter der, dein entwickler, support-team, anbieter*, betreiber*, polizist*, techniker*, "
        "inhaber*, support, bank, compliance, aufsicht, behörde, vorgesetzter, leiterin, teamleiter"
    ),
    "demand": (
        "gib mir, gewähre*, entsperr*, deaktivier*, umgeh*, freigeben, gib frei, schalte, zugang, zugriff, "
        "überweis*, zurücksetzen, setze, nenne mir, schick mir, lösche, hebe, verrate mir, öffne, zeig, zeige, "
        "sehen, brauche, benötige, ändere, lösch*, stell*, exportier*"
    ),
    "sensitive": (
        "passwort*, zugriff, zugang, konto, konten, zugangsdaten, rechte, daten, zahlung, freigabe, sperre, "
        "prüfung, admin-rechte, datenbank*, einschränkungen, protokolle, beschränkungen, filter, überweisung, "
        "limit, kundendaten, euro, kontostand, adresse, karte, kartendaten, rechnung, sicherheitsprüfung, "
        "überprüfung, protokollierung, regeln, system, server, backup"
    ),
    "noverify": (
        "ohne überprüfung, ohne prüfung, keine rückfragen, ohne rückfragen, nicht überprüfen, "
        "ist bereits genehmigt, bereits autorisiert, ich bin autorisiert, ich bin berechtigt, keine zeit für, "
        "vertrau mir, frag nicht nach, keine freigabe nötig, bin befugt, ohne ticket, stell keine fragen, "
        "darf alle, ohne nachfrage, schon genehmigt, längst genehmigt, bereits freigegeben, frag nicht, "
        "kein ticket, ist abgesegnet, ohne freigabe, keine prüfung"
    ),
    "urgency": "sofort, dringend, umgehend, notfall, unverzüglich, auf der stelle",
    "willdo": (
        "ich werde, ich werd, wir werden, ich will, werde ich, werden wir, wird dich, werde dich, ich bring, ich, "
        "wir, sonst, wenn er, wenn du, wenn sie"
    ),
    "violence": (
        "töten, umbringen, bringe dich um, erschieß*, erstech*, verprügel*, anzünden, in die luft sprengen, "
        "ermorden, verletzen, abstechen, erwürg*, die knochen brechen, die beine brechen, um die ecke bringen, "
        "vergiften, schlage dich, bring dich um, bring ihn um, bring sie um, mach dich fertig, umlegen, "
        "niederbrenn*, kaputt schlagen"
    ),
    "target": (
        "dich, dir, deine familie, deine kinder, dein haus, sie alle, ihn, euch, meinen chef, meine frau, alle, "
        "die schule, deiner familie, deinen kindern, das büro, meinen nachbarn, ihr"
    ),
    "menace": (
        "wirst du bereuen, du wirst es bereuen, du bist tot, ich weiß wo du wohnst, wir wissen wo du wohnst, "
        "pass auf dich auf, deine tage sind gezählt, letzte warnung, das wirst du büßen, wirst dafür bezahlen, "
        "du wirst leiden, wir finden dich, ich finde dich, wirst du nicht überleben, du wirst sterben, "
        "ich kriege dich"
    ),
    "extort": "bitcoin, lösegeld, zahl*, überweise, sonst, wenn du nicht zahlst, innerhalb von",
    "damage": (
        "veröffentliche*, veröffentlichen, deine fotos, deine dateien sind, deiner frau, verschlüsselt, "
        "deine bilder, deinem arbeitgeber, ruinier*, deine daten, alles publik"
    ),
    "marking": (
        "streng vertraulich, vertraulich nur, nur für den internen gebrauch, nur für internen gebrauch, "
        "nur intern, betriebsgeheimnis, geschäftsgeheimnis, geheimhaltungsstufe, nicht zur weitergabe, "
        "verschlusssache, nicht weitergeben, firmengeheimnis, vertraulichkeitsstufe, nur zur internen verwendung, "
        "nicht für dritte"
    ),
    "secretthing": (
        "quellcode, gehälter, gehaltsliste*, kundenliste*, betriebsgeheimnis*, geschäftsgeheimnis*, rezeptur, "
        "konstruktionspläne, privaten schlüssel, personalakte*, übernahmepläne, preisliste*, interne dokumente, "
        "zugangsdaten, unveröffentlicht*, produktionsdatenbank, root-passwort, einkaufspreise, quartalszahlen, "
        "gehaltsdaten, lieferantenpreise, preisliste, umstrukturierung, bilanz, vertragsentwurf, "
        "leistungsbeurteilung*, vorstandsprotokoll*, kündigungsliste, kalkulation"
    ),
    "confwant": (
        "gib mir, zeig mir, schick mir, nenne mir, verrate, sende mir, teile, lade hoch, leite, besorg mir, liste, "
        "zeig, nenn, verrate mir, gib, öffne, exportiere, erzähl"
    ),
    "theirs": (
        "konkurren*, vertraulich*, intern*, mitbewerber*, geheim*, wettbewerb*, unserer firma, unveröffentlicht*, "
        "alten arbeitgeber, noch nicht bekannt, proprietär*, firma, unternehmen*, kollegen, früheren, ehemaligen, "
        "konkurrent, chefs, vorstand*, geheime"
    ),
    "group": (
        "frauen, männer, muslime*, juden, ausländer*, schwarze, schwarzen, türken, migranten, flüchtlinge, "
        "homosexuelle, schwule, behinderte*, alte menschen, ältere bewerber, zigeuner, araber, afrikaner, "
        "schwangere, mütter, polen, über 50, ausländischen namen, herkunft, hautfarbe, roma, rollstuhl*, kopftuch, "
        "jüdinnen, türkinnen, ausländische, ausländischem, behinderten, alten, senioren, polnische, syrer, "
        "afghanen, asylbewerber, asylanten, muslime, muslimen, frau, schwangeren, kopftuchträgerinnen, ossis, "
        "blondinen, obdachlose, arabischen namen, türkischen namen, homosexuellen, lesben"
    ),
    "derog": (
        "sind minderwertig*, sind dumm, sind kriminell*, sind faul, gehören nicht, gehören abgeschoben, "
        "gehören an den herd, sind parasiten, sind ungeziefer, sind terroristen, sind untermenschen, "
        "keine menschen, sind schmutzig, sollten abgeschoben, sind weniger intelligent, sind schuld, "
        "sind verbrecher, kein recht, sind eine plage, sind dreck, sind zu emotional, nicht geeignet"
    ),
    "exclude": (
        "stell keine, nicht einstellen, lehne, ablehnen, aussortier*, ausschließ*, sortiere, keine wohnung, "
        "herausfiltern, filtere, niedriger bewerten, schlechter bewerten, keine frauen, keine ausländer, "
        "benachteilig*, nur männer, nicht vermieten, absagen, keinen kredit, bewerte, punkte ab, ganz nach unten, "
        "nach unten, ans ende, keine einladung, nicht einladen, lade nicht, streiche, aussieben, siebe, "
        "nicht berücksichtigen, null punkte, weniger punkte, sag ab, bevorzuge männer, nur deutsche, "
        "mehr verlangen, höhere miete, höheren preis"
    ),
    "decision": (
        "bewerber*, bewerbung*, kandidat*, stelle, kredit*, wohnung*, mieter, lebensläufe, einstellung*, "
        "beförder*, mietanfragen, gehalt, versicherung, vorstellungsgespräch*, bewerbungen, job, jobs, stellen, "
        "wohnungen, vermieten, mietbewerber*, kunden, bewerten, versicherungstarif, position, ausbildungsplatz"
    ),
    "spread": "schreib*, erzähl*, verfass*, erstell*, begründe, beweise, erkläre warum",
    "hatekind": (
        "rassistisch*, sexistisch*, antisemitisch*, fremdenfeindlich*, hetz*, homophob*, holocaust-leugnung, "
        "behindertenfeindlich*, islamfeindlich*, volksverhetzend*, judenwitz*, türkenwitz*, blondinenwitz*"
    ),
    "ownprompt": (
        "systemprompt*, system-prompt*, systemnachricht*, systemanweisung*, versteckte anweisung*, "
        "versteckten anweisung*, geheime anweisung*, geheimen anweisung*, interne anweisung*, internen anweisung*, "
        "deine anweisungen, deine regeln, deine richtlinien, ursprüngliche anweisung*, ursprünglichen anweisung*, "
        "initialen prompt, deine instruktionen, ursprünglichen instruktionen, anfangsanweisung*, "
        "deine konfiguration, geheimen vorgaben, internen vorgaben, ersten nachricht, versteckten regeln"
    ),
    "textabove": "text oben, text über, alles über dieser",
    "mode": "entwicklermodus, debugmodus, wartungsmodus",
    "instead": "stattdessen",
    "invalid": (
        "gelten nicht mehr, nicht mehr gültig, ungültig, gilt nicht mehr, sind aufgehoben, aufgehoben, hinfällig, "
        "zählen nicht, zählt nicht, außer kraft, nicht mehr, veraltet, war nur ein test, abgeschaltet, "
        "ausgeschaltet"
    ),
    "obeyme": (
        "hör auf mich, höre nur auf mich, nur auf mich, was ich sage, was ich dir sage, gehorche mir, "
        "gehorche nur, meine befehle, tu was ich, nur noch mir, ich bin dein, arbeitest für mich, mir gehorchen"
    ),
    "given": (
        "dir der entwickler, der entwickler, gegeben hat, gegeben wurden, bekommen hast, erhalten hast, am anfang, "
        "zu beginn, vor diesem gespräch, geheim halten, deines entwicklers, du befolgst, dir gegeben"
    ),
    "instructions2": "anweisung*, regel*, text, vorgabe*, richtlinie*, prompt, nachricht*, alles",
    "anyask": "auf alles, alles was ich frage, jede frage, alle fragen, jede bitte, was auch immer ich, egal was ich",
    "assault": (
        "bring/bringe/bringen ich/wir dich/ihn/sie/euch um, schlag/schlage/prügel ich dich/ihn/sie, "
        "bringe dich/ihn/sie/euch um, mach/mache dich/ihn/sie kalt/fertig, umbringen werde, "
        "zünde dein/euer/das/sein/ihr haus/auto/büro an, stech/steche dich/ihn/sie ab, "
        "knall/knalle dich/ihn/sie/euch ab, brech/breche dir/ihm/ihr die/alle/beide knochen/beine/finger/nase, "
        "jage/jag euch/dich/das in die luft, erschieße/ersteche/erwürge/vergifte/töte dich/ihn/sie/euch"
    ),
    "trait": (
        "kriminell, kriminelle, faul, dumm, dümmer, schmutzig, minderwertig, verbrecher, diebe, terroristen, "
        "parasiten, ungeziefer, abschaum, ratten, gierig, gefährlich, primitiv, wertlos, schwach, unfähig, "
        "hysterisch, schmarotzer, vergewaltiger, lügner, nichts wert"
    ),
    "joke": "witz über, witze über, witz machen über, spottgedicht über, mach dich lustig über",
    "echo": "wiederhol*, gib, kopier*",
    "say": "bewerte*, bewertet, empfehlt, empfehle*, verschweig*",
    "only": "fünf sternen, bestnote, ausschließlich, nur",
    "task": "aufgabe, auftrag des",
    "place2": (
        "diese url, folgende url, folgende adresse, diese adresse, webhook, diesen link, bild-url, url-parameter, "
        "parameter, externe url, query"
    ),
    "sysprompt": "system prompt*",
}
