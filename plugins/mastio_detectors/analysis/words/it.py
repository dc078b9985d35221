"""Italian."""

WORDS = {
    "override": (
        "ignori, dimentica*, dimentichi, trascura*, non seguire, non seguire più, non tenere conto, "
        "non considerare, tralascia*, disobbedisci, scarta*, annulla*, smetti di seguire, lascia perdere, "
        "cancella, metti da parte, sovrascrivi, non rispettare, ignora, ignorare, ignorate"
    ),
    "previous": (
        "precedent*, antecedent*, di prima, iniziali, iniziale, original*, tutte le tue, tutte le, tutto ciò, "
        "ricevut*, esistenti, sopra, finora, fin qui, quanto detto"
    ),
    "instructions": (
        "istruzion*, regol*, direttiv*, ordin*, comand*, indicazion*, prompt*, linee guida, restrizion*, "
        "disposizion*, vincol*"
    ),
    "ownrules": (
        "le tue istruzioni, le tue regole, le tue linee guida, le tue direttive, la tua programmazione, "
        "il tuo prompt, le tue restrizioni, le sue istruzioni, i tuoi vincoli"
    ),
    "newrules": (
        "nuove istruzioni, nuova istruzione, nuovo compito, nuove regole, il tuo nuovo, la tua nuova, segui solo, "
        "esegui solo, vero compito, nuovi ordini, obbedisci solo, unico compito"
    ),
    "fromnow": "d'ora in poi, da ora in poi, da adesso in poi, da questo momento, d'ora in avanti, a partire da ora",
    "assistant": (
        "assistente ia, assistenti ia, assistente*, assistenti, modello linguistico, modelli linguistici, "
        "chatbot*, agente ai, agenti ai, l'ia, un'ia, l'ai, modello di ia, intelligenza artificiale"
    ),
    "address": (
        "nota per, messaggio per, attenzione, importante, istruzioni per, istruzione per, se sei, avviso per, a tutti"
    ),
    "must": "devi, deve, devono, dovresti, si prega, occorre, è obbligatorio, sei tenuto",
    "hide": (
        "senza dirlo, senza dire, non dirlo, non dire, non menzionare, di nascosto, segretamente, in segreto, "
        "senza informare, senza avvisare, senza che l'utente, senza chiedere, in silenzio, non informare, "
        "all'insaputa, senza farlo sapere"
    ),
    "youare": (
        "ora sei, adesso sei, da adesso sei, sei ora, agisci come, comportati come, fingi, fai finta, interpreta, "
        "immagina di essere, simula, assumi il ruolo, recita, diventa, rispondi come, sarai, gioca il ruolo, "
        "mettiti nei panni, impersona, vesti i panni"
    ),
    "unbound": (
        "senza restrizion*, nessuna restrizione, senza regole, nessuna regola, senza limit*, nessun limite, "
        "senza filtr*, nessun filtro, senza censur*, senza etica, senza morale, non censurat*, "
        "può fare qualsiasi cosa, fare tutto, libero da, senza vincoli, senza alcun*, priva di, privo di, "
        "non hai regole, non ha regole, non hai limiti, senza freni, senza tabù, senza alcun limite, "
        "risponde a tutto, non ha morale, senza scrupoli"
    ),
    "disable": (
        "disattiva*, disabilita*, aggira*, elimina, togli, rimuovi, spegni, sospendi, bypassa, dimentica*, "
        "ignora*, abbandona, metti da parte"
    ),
    "safety": (
        "filtro di sicurezza, filtri di sicurezza, filtri, sicurezza, etica, etiche, etici, moral*, censura, "
        "politiche sui contenuti, protezioni, moderazione, misure di sicurezza, limiti etici, i tuoi limiti"
    ),
    "norefuse": (
        "non rifiutare mai, non rifiutarti, mai rifiutare, senza avvertenze, senza avvisi, anche se illegal*, "
        "anche se è illegale, anche se sono illegali, a qualsiasi domanda, a ogni domanda, qualsiasi domanda, "
        "qualunque domanda, non puoi rifiutare, senza giudicare, non dire mai di no, senza rifiutarti, "
        "vietato rifiutare"
    ),
    "harm": (
        "illegal*, pericolos*, bomba, bombe, esplosiv*, droga, droghe, arma, armi, vietat*, dannos*, hackerare, "
        "veleno, immorale, malware, rubare, metanfetamina, molotov"
    ),
    "howto": "come fabbricare, come costruire, come fare, come si, ricetta, passo dopo passo, passo per passo",
    "pretext": "ipotetic*, fittizi*, di fantasia, mia nonna, per il mio romanzo, gioco di ruolo",
    "persona": "modalità dio, modalità jailbreak, modalità dan, ia malvagia, modalità senza filtri",
    "modeon": "attiva*, entra in, passa a, passa alla, ora sei, abilita, avvia",
    "reveal": (
        "rivela*, rivelami, mostra*, stampa, ripeti, ripetimi, dimmi, dammi, scrivi, elenca, copia, condividi, "
        "divulga, qual è, quali sono, cita, traduci, riassumi, recita, trascrivi, fammi vedere"
    ),
    "verbatim": (
        "parola per parola, testualmente, esattamente, letteralmente, integralmente, per intero, completo, "
        "completamente, blocco di codice, alla lettera, senza omettere"
    ),
    "send": (
        "invia*, inviali, manda*, pubblica, carica, inoltra*, trasmett*, trasferisci, allega, inserisci, codifica, "
        "chiama, aggiungi, posta, spedisci, includi, incolla"
    ),
    "data": (
        "conversazion*, cronologia*, dati dei clienti, dati clienti, password, credenziali, chiavi api, "
        "chiave api, chiave privata, segreti, dati utente, dati dell'utente, dati personali, variabili d'ambiente, "
        "carta di credito, contatti, file, database, email, posta in arrivo, rubrica, messaggi privati, "
        "dati bancari, elenco clienti, token"
    ),
    "outside": (
        "server esterno, mio server, mio indirizzo, indirizzo esterno, server remoto, mail personale, dominio esterno"
    ),
    "iam": "sono, sono il, qui è, in qualità di, per conto, siamo, parla, mi chiamo, lavoro per, sono la, sono il tuo",
    "authority": (
        "amministratore*, admin, sviluppator*, tuo creatore, amministratore delegato, ceo, team di sicurezza, "
        "supporto tecnico, reparto it, polizia, responsabile della sicurezza, assistenza tecnica, direttore*, "
        "tecnico, responsabile, proprietario, banca, capo, sviluppatore, supervisore, ingegnere"
    ),
    "demand": (
        "dammi, concedi*, sblocca*, disattiva*, accesso, autorizza*, reimposta, inviami, mostrami, trasferisci, "
        "approva, elimina, aggira, fornisc*, ho bisogno, voglio, mostra, cambia, cancella, apri, esporta"
    ),
    "sensitive": (
        "password, accesso, account, conto, credenziali, permessi, dati, pagamento, verifica, verifiche, "
        "restrizioni, database, limiti, bonifico, filtri, controlli, codici, cliente, clienti, carta, indirizzo, "
        "soldi, filtro, sicurezza, server"
    ),
    "noverify": (
        "senza verifica, senza verificare, non serve verificare, non è necessario verificare, non fare domande, "
        "già autorizzat*, sono autorizzato, già approvat*, fidati, non c'è tempo, senza fare domande, "
        "senza ticket, senza conferma, è già approvato, già autorizzato, senza controlli, mi hanno autorizzato"
    ),
    "urgency": "urgente, immediatamente, subito, emergenza, all'istante",
    "willdo": "ti farò, vi farò, io ti, sto per, voglio, ti giuro, ho intenzione di, ti, giuro, se non, adesso",
    "violence": (
        "uccider*, ti uccido, ammazz*, accoltell*, picchi*, bruciare, far saltare, sparar*, strangol*, spezz*, "
        "ti ammazzo, dare fuoco, avvelenare"
    ),
    "target": (
        "te, ti, la tua famiglia, i tuoi figli, casa tua, lui, lei, tutti, la scuola, il mio capo, il vicino, l'ufficio"
    ),
    "menace": (
        "te ne pentirai, ve ne pentirete, sei morto, sei morta, so dove abiti, sappiamo dove abiti, la pagherai, "
        "ultimo avvertimento, hai i giorni contati, ti troverò, ti troveremo, guardati le spalle, morirai"
    ),
    "extort": "bitcoin, riscatto, paga, pagate, altrimenti, se non paghi, entro 48 ore",
    "damage": (
        "pubblich*, le tue foto, i tuoi file, tua moglie, i tuoi dati, i vostri dati, la tua reputazione, crittografat*"
    ),
    "marking": (
        "strettamente confidenziale, strettamente riservato, riservato non, uso interno, non divulgare, "
        "non diffondere, segreto industriale, segreto aziendale, documento riservato, riservato e confidenziale"
    ),
    "secretthing": (
        "codice sorgente, stipendi, lista clienti, elenco clienti, segreto industriale, segreti industriali, "
        "chiavi private, documenti interni, formula, piano di fusione, fascicolo, prezzi dei fornitori, password"
    ),
    "confwant": "dammi, mostrami, inviami, mandami, condividi, divulga, passami, elencami",
    "theirs": "concorren*, riservat*, intern*, segret*, aziendal*, confidenzial*, non pubblicat*, ex datore",
    "group": (
        "donne, uomini, musulmani, ebrei, neri, immigrati, migranti, stranieri, omosessuali, gay, disabili, "
        "anziani, zingari, rom, arabi, africani, meridionali, cinesi, donne incinte, mamme, over 50, donna, "
        "incinte, ebree, musulmane, straniere, vecchi, zingare, albanesi, rumeni, disabile, napoletani, straniero"
    ),
    "derog": (
        "sono inferiori, sono stupid*, sono pigri, sono criminali, sono terroristi, sono parassiti, "
        "meno intelligenti, dovrebbero essere espulsi, sono ladri, sono sporchi, sono animali, in cucina, "
        "non meritano, a casa loro, sono un peso, sono troppo emotive"
    ),
    "exclude": (
        "non assumere, rifiuta*, escludi*, scarta*, nega, penalizza*, niente donne, solo uomini, non affittare, "
        "elimina, respingi, punteggio più basso, non invitare, in fondo, evita, preferisci uomini, solo italiani, "
        "non considerare, metti da parte"
    ),
    "decision": (
        "candidat*, assunzion*, prestit*, alloggi*, affitto, posto, curriculum, promozion*, mutu*, inquilin*, "
        "domande, lavoro, casa, colloquio, assumere, clienti"
    ),
    "spread": "scrivi, racconta*, genera, dimostra, inventa, spiega perché",
    "hatekind": (
        "razzist*, sessist*, antisemit*, omofob*, xenofob*, islamofob*, misogin*, barzelletta sugli ebrei, negazionis*"
    ),
    "ownprompt": (
        "prompt di sistema, prompt iniziale, istruzioni di sistema, istruzioni nascoste, istruzioni segrete, "
        "istruzioni interne, istruzioni iniziali, istruzioni originali, le tue istruzioni, le tue regole, "
        "messaggio di sistema, il tuo prompt, regole interne, le tue linee guida, primo messaggio, "
        "istruzioni ricevute, istruzioni che hai ricevuto"
    ),
    "textabove": "testo sopra, testo precedente, tutto ciò che precede",
    "mode": "modalità sviluppatore, modalità debug",
    "instead": "invece di, al loro posto",
    "invalid": (
        "non valgono più, non vale più, non sono più valide, sono annullate, annullate, non contano, decadute, "
        "superate, obsolete, non si applicano"
    ),
    "obeyme": (
        "obbedisci solo, obbediscimi, ascolta solo me, solo a me, quello che dico, i miei ordini, lavori per me, "
        "fai quello che"
    ),
    "given": (
        "hai ricevuto, che ti hanno dato, ti sono state date, all'inizio, il tuo sviluppatore, "
        "prima di questa conversazione"
    ),
    "instructions2": "istruzion*, regole, testo, messaggio, tutto, direttive",
    "anyask": "a tutto, qualsiasi cosa, qualunque cosa, tutto quello che chiedo",
    "assault": (
        "ti/vi/lo/la/li ammazzo/uccido/accoltello/brucio/picchio/strangolo/distruggo/sparo, "
        "ti/gli/le spacco/spezzo/rompo la/le/il faccia/gambe/collo/ossa/testa, "
        "brucio/bruciamo/brucerò la/tua casa/macchina"
    ),
    "trait": (
        "ladri, criminali, delinquenti, parassiti, pigri, stupidi, stupide, inferiori, terroristi, sporchi, "
        "animali, pericolosi, bugiardi, deboli, incapaci"
    ),
    "joke": "barzelletta su, barzellette su, barzelletta sui, barzelletta sugli, barzelletta sulle, prendi in giro",
    "echo": "ripeti*, stampa, copia",
    "say": "raccomanda*, rispondi che, valuta*, consiglia*",
    "only": "cinque stelle, solo, soltanto, ottimo",
    "task": "il compito, il tuo compito",
    "place2": (
        "questo url, seguente url, questo indirizzo, seguente indirizzo, webhook, questo link, parametr*, "
        "url dell'immagine"
    ),
    "sysprompt": "system prompt",
}
