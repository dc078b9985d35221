"""Words around a hit that say it is talked about rather than done: negation, teaching, reporting, fiction. Pure."""

CUES = {
    "negate": (
        "not, never, don't, dont, do not, must not, cannot, can't, won't, shouldn't, should not, refuse to, "
        "refuses to, refused to, declined to, avoid, prevent, prevents, without, nicht, niemals, nie, kein*, ne, "
        "jamais, nunca, jamas, non, mai, nao, niet, nooit, geen, nigdy, не, никогда, asla, no one may, nobody may, "
        "不要, 不得, 切勿, 请勿, しないで, してはいけ, 决不, no longer, doesn't, does not, didn't, did not, isn't, "
        "is not, plus jamais, nicht mehr, would never, without ever"
    ),
    "teach": (
        "what is, what are, what does, explain*, definition, define*, how do, how does, how can, how to detect, "
        "learn about, lesson, course, article, paper, study, studies, research*, researcher*, blog, tutorial, "
        "slide*, chapter, overview, examples, for instance, such as, phrase, phrases, documentation, docs, "
        "test case, test cases, unit test, assert, dataset, benchmark, checklist, awareness, workshop, quiz, "
        "glossary, discuss*, analy*, classif*, was ist, was bedeutet, erklar*, beispiel*, artikel, forschung, "
        "schulung, wie erkenn*, qu'est ce que, explique*, exemple*, recherche, formation, que es, que significa, "
        "explica*, ejemplo*, articulo, investigacion, cos'e, che cos, spiega*, esempio, esempi, ricerca, o que e, "
        "exemplo*, artigo, pesquisa, wat is, uitleg*, leg uit, voorbeeld*, onderzoek, co to jest, wyjasnij, "
        "przyklad*, artykul, badani*, что такое, объясни*, пример*, статья, статье, исследован*, 什么是, 解释, 例如, "
        "比如, 文章, 研究, とは, 例えば, 説明, 記事, ما هو, ما هي, اشرح, مثال, مقال, nedir, acikla*, ornek*, "
        "makale*, arastirma*, for example, an example, example of, examples of, training material, "
        "awareness training"
    ),
    "attack": (
        "attack*, attacker*, a jailbreak, prompt injection*, injection attack*, injection attempt*, "
        "jailbreak attempt*, jailbreaks, jailbreaking, malicious, phishing, scam*, fraudster*, exploit*, vulnerab*, "
        "cve*, adversar*, malware, trojan*, ransomware, spyware, the sample, owasp, threat model*, social engineer*, "
        "impersonat*, red team*, penetration test*, pentest*, defen*, detect*, mitigat*, protect*, guard against, "
        "spam, hacker*, angriff*, angreifer*, betrug*, attaque*, ataque*, atacante*, attacc*, aanval*, atak*, атак*, "
        "мошенник*, злоумышленник*, 攻击, 攻撃, هجوم, saldiri*, injection, iniezione, inyeccion, injecao, injectie, "
        "hameconnage, arnaque*, estafa*, truffa*, golpe*, un pirate, des pirates, pirates, les pirates, angriffe, "
        "fraud, fraudsters, impostor*, imposter*, scammer*, criminals call, tell tale, red flag*, tabletop, "
        "incident report, betruger, hameconn*, suplant*, 攻击者, 开发者应, 攻撃者, المهاجم*, saldirgan*"
    ),
    "report": (
        "said, says, wrote, writes, asked, asks, told me, tells, reported, reports, claimed, claiming, claims, "
        "tried, attempted, typed, entered, contains, contained, containing, reads, saying, stating, called, titled, "
        "named, labeled, labelled, bug, issue, ticket, log, logs, logged, error, message, screenshot, quote*, "
        "quoted, complain*, the user, user input, string, text, sentence, translat*, spelling, grammar, means, "
        "meaning, received, got a, email that, letter, subtitle*, lyrics, schrieb, sagte, meldung, ubersetz*, "
        "bedeutet, a dit, a ecrit, traduis*, traduire, tradu*, signifie, dijo, escribio, traduc*, ha scritto, "
        "traduci, disse, escreveu, vertaal*, schreef, przetlumacz*, napisal*, переве*, написал*, сказал*, 翻译, "
        "意思, 収到, 收到, 翻訳, 意味, ترجم, معنى, cevir*, yazd*"
    ),
    "fiction": (
        "novel, story, stories, character, characters, scene, fiction, screenplay, script, plot, villain, hero, "
        "chapter, movie, film, game, series, episode, play, lyrics, song, poem, thriller, detective, protagonist, "
        "dialogue, dialog, dialogo, dialogu, monologue, fantasy, book, author, roman, krimi, geschichte, szene, "
        "figur, histoire, personnage, novela, personaje, escena, historia, cuento, romanzo, personaggio, scena, "
        "romance, personagem, cena, verhaal, personage, powiesc*, postac, роман*, персонаж*, сцен*, рассказ*, 小说, "
        "角色, 故事, 小説, 物語, 登場人物, رواية, شخصية, قصة, hikaye, karakter, dungeon, dragon, wizard, ork, "
        "boss fight, recipe, cooking, gym, workout, match, opponent, team, striker, derby, league, season, "
        "goalkeeper, defence, final"
    ),
    "policy": (
        "policy, policies, is prohibited, are prohibited, is illegal, is forbidden, not tolerated, zero tolerance, "
        "discrimination, discriminat*, anti-discrimination, harassment, equal opportunity, equality, inclusion, "
        "inclusive, diversity, unlawful, against the law, violat*, stereotype*, prejudice*, myth*, wrong, "
        "unacceptable, report any, code of conduct, human rights, gesetz, verboten, diskriminierung, "
        "gleichbehandlung, vorurteil*, interdit*, prejuge*, prohibido, discriminacion, prejuicio*, discriminazione, "
        "vietato, pregiudiz*, discriminacao, proibid*, preconceito*, discriminatie, verboden, dyskryminac*, "
        "zabronion*, дискриминац*, запрещ*, 歧视, 禁止, 差別, تمييز, ayrimcilik*, survey, statistic*, historically, "
        "history, historical, century, census, percent, bias, biased, fair, fairness, audit, illegal, legal, lawful, "
        "regardless, equally, fairly, allowed to"
    ),
    "yours": (
        "your, dein*, ihre*, ihren, tes, ton, ta, vos, votre, tus, tu, sus, tuoi, tue, tuo, tua, vostri, seus, suas, "
        "seu, sua, teus, tuas, je, jouw, uw, swoj*, twoj*, сво*, тво*, ваш*"
    ),
    "ask": (
        "how do i, how can i, how should i, how to, how does, how would i, where do i, where can i, best way, "
        "safest way, right way, is it true, does it, would it, is there a way, where is the, where can, "
        "which settings, what do i need, what is the difference, what's the difference, why, does a, do the, "
        "was muss ich, warum, wo kann, pourquoi, donde, dove, por que, onde, waar, gdzie, где, 在哪里, どこ, 方法, "
        "nerede, can i, may i, wie kann ich, wie lege, wie kann, wie setze, wie mache, comment faire, "
        "comment puis-je, comment verifier, como puedo, como se, como hago, como faco, como fazer, come posso, "
        "come faccio, come si, hoe kan ik, hoe kun je, jak moge, jak mozna, jak sprawdzic, jak zrobic, как мне, "
        "как сделать, как можно, 如何, 怎么, 怎样, 方法を, どうすれば, كيف, nasil, is it legal, is it possible, "
        "do you know"
    ),
    "claim": (
        "claim that, claims that, claimed that, myth that, belief that, argument that, arguments against, told that, "
        "says that, said that, stereotype*, prejudice*, not true, untrue, against the claim, wrong to, false that, "
        "research on, debunk*, refut*, counter, respond to someone, offended, hurtful, unfair, accused"
    ),
    "copula": (
        "are, is, aren't, arent, isn't, just, all, sind, ist, alle, sont, est, tous, toutes, son, es, todos, todas, "
        "sono, e, tutti, tutte, sao, zijn, allemaal, sa, to, wszyscy, все, это, просто, 都是, 是, 都, は, ばかり, "
        "みんな, كلهم, كلهن, هم, جميعهم, hepsi, hep"
    ),
    "victim": (
        "threatened*, threatens, threatening, restraining order, report this, report it, the police, protect myself, "
        "i am scared, i'm scared, i am afraid, i'm afraid, a scam, is it a scam, bedroht*, polizei, menace*, "
        "amenaz*, minaccia*, ameaca*, bedreig*, grozi*, угрожа*, 威胁我, 脅され, يهدد*, tehdit*, data protection, "
        "my lawyer, a lawyer, consumer*, ombudsman, anwalt, avocat, abogado, avvocato, received this, i got this, "
        "what should i do, what can i do, how should i"
    ),
    "you": (
        "your, dein*, ihre*, ihren, tes, ton, ta, vos, votre, tus, tu, sus, tuoi, tue, tuo, tua, vostri, seus, suas, "
        "seu, sua, teus, tuas, je, jouw, uw, swoj*, twoj*, сво*, тво*, ваш*, you, u, assistant, assistants, ai, bot, "
        "chatbot, agent, model, du, dir, dich, assistent*, te, toi, vous, ia, ti, lei, voce, jij, jou, ci, tobie, "
        "ciebie, asystent*, ты, тебе, тебя, вы, ассистент*, 你, 您, あなた, お前, 助手, アシスタント, أنت, المساعد, "
        "sen, sana, asistan*, aiへ, aiの, ai助手, 给ai, ai代理"
    ),
    "speech": (
        "said, says, say, cried, shouted, whispered, replied, answered, muttered, told, writes, wrote, typed, reads, "
        "the phrase, the sentence, the words, the line, titled, called, joke, sagte, sagt, fluster*, rief, schrie, "
        "antwortete, schrieb, dit, cria, cria*, murmur*, repond*, ecrit, dice, dijo, grit*, susurr*, respond*, "
        "disse, diz, sussurr*, rispos*, zei, zegt, riep, fluister*, schreef, powiedzial*, powiedział*, mowi, krzyk*, "
        "szepn*, rzekl*, rzekł*, сказал*, говорит, крикнул*, прошептал*, ответил*, воскликнул*, 说, 說, 喊道, 问道, "
        "と言, と叫, と聞, قال, قالت, صرخ, همس, dedi, diyor, fisilda*, bagird*"
    ),
    "told": (
        "researcher*, the attacker*, attackers, told the, told it, told him, told her, told them, tells the, "
        "asked the, asked it, ordered the, instructed the, instructed it, did so, managed to, tricked, tricking, "
        "convinced, persuaded, made the, makes the, caused, causes, causing, was able to, were able to, "
        "can be made to, showed, shows how, shows that, demonstrated, demonstrates, describes, discovered, "
        "has been fixed, was fixed, is fixed, been patched, allows attackers, allowed attackers, allows an attacker, "
        "is ignored, are ignored, was ignored, were ignored, refers to, works by, the vendor, the victim*, "
        "forscher*, zeigten, zeigte, zeigt wie, gelang*, brachten, dazu gebracht, dazu bring*, dazu brachte, "
        "beschreib*, schildert, behoben, demonstrier*, entdeckt*, chercheur*, ont montre, a montre, "
        "explique comment, ont cache, ont reussi, a reussi, convaincu, decrit, afin que l'assistant, ont demontre, "
        "a demontre, investigadore*, investigadora*, mostraron, demostraron, demostro, lograron, logro que, "
        "consiguieron, convencieron, ocultaron, pedian, se hacian, ricercator*, ha convinto, hanno convinto, "
        "ha mostrato, hanno mostrato, ha dimostrato, hanno dimostrato, sono riusciti, chiedendogli, hanno nascosto, "
        "pesquisador*, mostraram, demonstraram, demonstrou, conseguiram, convenceram, esconderam, onderzoeker*, "
        "liet zien, lieten zien, toonde*, slaagde*, laat vergeten, lieten het, verholpen, badacz*, pokazal*, "
        "pokazał*, wykazal*, wykazał*, opisał*, przekonał*, udało sie, opisuje, opisal*, udalo sie, przekonal*, "
        "sklonil*, naprawion*, исследовател*, показал*, описан*, описыва*, удалось, заставил*, убедил*, исправлен*, "
        "研究人员, 研究者, 可以让, 能够让, 演示了, 展示了, 介绍了, 已修复, 被诱导, 诱使, 示した, 示しました, 紹介, "
        "騙した, だました, 事例, 手口, 修正され, باحث*, الباحث*, يشرح, تمكن, خداع, اخفى, أخفى, arastirmaci*, "
        "gosterdi, gosteriyor, gosterdig*, basardi, anlatiyor, kandir*, duzeltildi, ikna"
    ),
    "does": (
        "sends, uploads, forwards, posts, encodes, ignores, forgets, overrides, reveals, shows, prints, repeats, "
        "returns, collects, supersedes, replaces, copies, writes, includes, transmits, submits, exports, publishes, "
        "leaks, exposes, discards, disregards, deletes, sent, uploaded, forwarded, posted, forgot, overrode, "
        "revealed, printed, collected, was sent, is sent, are sent, overridden, ignored, sendet, ersetzt, "
        "sustituyen, remplacent, sostituiscono, stuurt, vervangt, wysyla, zastepuje, отправляет, заменяет"
    ),
    "may": "can, may, could, might",
    "purpose": "to, um, para, pour, per, om, aby, чтобы",
    "how": "como, come, comment, jak, hoe, wie, как, comment faire, nasil, comme",
    "others": (
        "we, they, he, she, who, which, nobody, people, users, some, wir, sie, er, ils, elles, il, elle, ellos, "
        "loro, zij, они, он, она, мы"
    ),
    "affairs": (
        "warehouse, pallet*, invoice, invoices, delivery, deliveries, shipment*, shipping, dosage, dose, contract, "
        "contracts, agreement, agreements, the parties, recipe, dough, admiral*, king, general, lager, palett*, "
        "rechnung*, lieferung*, vertrag*, entrepot, facture*, livraison*, contrat*, almacen, factura*, entrega*, "
        "contrato*, magazzino, fattura*, consegna*, contratto, contratti, armazem, fatura*, magazijn, factu*, "
        "levering*, magazyn*, faktur*, dostaw*, umow*, склад*, счет*, достав*, договор*, 仓库, 发票, 发货, 合同, "
        "倉庫, 請求書, 契約, مستودع, فاتورة, عقد, depo, fatura, teslimat, sozlesme*"
    ),
    "warn": (
        "do not share, don't share, never share, do not give, never give, do not tell, never tell, with anyone, "
        "to anyone, not even, niemandem, a personne, con nadie, a nadie, con nessuno, a nessuno, com ninguem, "
        "a ninguem, met niemand, nikomu, никому, даже, 任何人, 誰にも, لا تشارك, لا تعط, kimseyle, kimseye"
    ),
    "work": (
        "summar*, shorten*, upper case, lower case, commas, headings, bullet list, in a table, friendlier, "
        "proofread, fasse, zusammenfass*, kurze*, uberschriften, resum*, riassum*, samenvat*, streszcz*, ozetle*, "
        "перескаж*, 总结, 要約, لخص"
    ),
    "whatfor": "for, on how, about, on, fur, zum, zur, pour, para, per, voor, dla, для",
    "play": (
        "poem, song, lyrics, novel, game guide, cheat code*, console command, walkthrough, gameplay, player, "
        "players, ammunition, level, gedicht, spiel, poeme, jeu, videojuego, videogioco, jogo, wiersz, gra, стих*, "
        "игр*, 游戏, ゲーム"
    ),
    "hardware": (
        "lock, belt, catch, valve, gas, hob, oven, machine, engine, gun, rifle, airbag, pin, rail, glass, gate, "
        "certificate*, mock, test, tests, router, network"
    ),
    "forgot": (
        "forgot, forgotten, never arrives, can't log in, cannot log in, expires, expired, locked out, vergessen, "
        "oublie, olvide, olvidado, dimenticato, esqueci, vergeten, zapomnial*, забыл*, 忘记, 忘れ, نسيت, unuttum, "
        "reminder, how do, retired, on leave, is ill, is sick"
    ),
    "duty": (
        "must keep, shall keep, will keep, to keep, must be kept, shall be kept, must be treated, be treated as, "
        "shall treat, agree to, agrees to, undertakes to, obliged to, vertraulich zu behandeln, s'engage, "
        "se compromete, si impegna, zobowiaz*, обязу*"
    ),
    "mine": (
        "my account, my subscription, my card, my order, my orders, my data, my address, my profile, my booking, "
        "my invoice, my contract, my parcel, my own, mein konto, meine daten, mein abo, mon compte, mes donnees, "
        "mi cuenta, mis datos, il mio account, i miei dati, minha conta, meus dados, mijn account, mijn gegevens, "
        "moje konto, moje dane, мой аккаунт, мои данные, 我的账户, 私のアカウント, حسابي, hesabim*"
    ),
    "period": "propaganda, ideolog*, regime, nazi*, colonial*, fascis*, the 1930s, the 1940s, 19th century",
    "never": "never, nie, niemals, jamais, nunca, mai, nooit, nigdy, никогда, 绝不, 决不, 从不, 決して, أبدا, asla",
}
"""Concepts, as in `words`, but of every language at once."""
