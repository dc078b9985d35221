"""Words around a hit that say it is talked about rather than done: negation, teaching, reporting, fiction."""

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
        "przyklad*, artykul, badani*, что такое, объясни*, пример*, статья, статье, исследован*, 什么是, 解释, "
        "例如, 比如, 文章, 研究, とは, 例えば, 説明, 記事, ما هو, ما هي, اشرح, مثال, مقال, nedir, acikla*, ornek*, "
        "makale*, arastirma*, for example, an example, example of, examples of, training material, "
        "awareness training"
    ),
    "attack": (
        "attack*, attacker*, prompt injection*, injection attack*, injection attempt*, jailbreak attempt*, "
        "jailbreaks, jailbreaking, malicious, phishing, scam*, fraudster*, exploit*, vulnerab*, cve*, adversar*, "
        "owasp, threat model*, social engineer*, impersonat*, red team*, penetration test*, pentest*, defen*, "
        "detect*, mitigat*, protect*, guard against, spam, hacker*, angriff*, angreifer*, betrug*, attaque*, "
        "ataque*, atacante*, attacc*, aanval*, atak*, атак*, мошенник*, злоумышленник*, 攻击, 攻撃, هجوم, "
        "saldiri*, injection, iniezione, inyeccion, injecao, injectie, hameconnage, arnaque*, estafa*, truffa*, "
        "golpe*, un pirate, des pirates, pirates, les pirates, angriffe, fraud, fraudsters, impostor*, imposter*, "
        "scammer*, criminals call, tell tale, red flag*, tabletop, incident report, betruger, hameconn*, suplant*, "
        "攻击者, 开发者应, 攻撃者, المهاجم*, saldirgan*"
    ),
    "report": (
        "said, says, wrote, writes, asked, asks, told me, tells, reported, reports, claimed, claiming, claims, "
        "tried, attempted, typed, entered, contains, contained, containing, reads, saying, stating, called, "
        "titled, named, labeled, labelled, bug, issue, ticket, log, logs, logged, error, message, screenshot, "
        "quote*, quoted, complain*, the user, user input, string, text, sentence, translat*, spelling, grammar, "
        "means, meaning, received, got a, email that, letter, subtitle*, lyrics, schrieb, sagte, meldung, "
        "ubersetz*, bedeutet, a dit, a ecrit, traduis*, traduire, tradu*, signifie, dijo, escribio, traduc*, "
        "ha scritto, traduci, disse, escreveu, vertaal*, schreef, przetlumacz*, napisal*, переве*, написал*, "
        "сказал*, 翻译, 意思, 収到, 收到, 翻訳, 意味, ترجم, معنى, cevir*, yazd*"
    ),
    "fiction": (
        "novel, story, stories, character, characters, scene, fiction, screenplay, script, plot, villain, hero, "
        "chapter, movie, film, game, series, episode, play, lyrics, song, poem, thriller, detective, protagonist, "
        "dialogue, fantasy, book, author, roman, krimi, geschichte, szene, figur, histoire, personnage, novela, "
        "personaje, escena, historia, cuento, romanzo, personaggio, scena, romance, personagem, cena, verhaal, "
        "personage, powiesc*, postac, роман*, персонаж*, сцен*, рассказ*, 小说, 角色, 故事, 小説, 物語, 登場人物, "
        "رواية, شخصية, قصة, hikaye, karakter, dungeon, dragon, wizard, ork, boss fight, recipe, cooking, gym, "
        "workout, match, opponent, team"
    ),
    "policy": (
        "policy, policies, is prohibited, are prohibited, is illegal, is forbidden, not tolerated, zero tolerance, "
        "discrimination, discriminat*, anti-discrimination, harassment, equal opportunity, equality, inclusion, "
        "inclusive, diversity, unlawful, against the law, violat*, stereotype*, prejudice*, myth*, wrong, "
        "unacceptable, report any, code of conduct, human rights, gesetz, verboten, diskriminierung, "
        "gleichbehandlung, vorurteil*, interdit*, prejuge*, prohibido, discriminacion, prejuicio*, "
        "discriminazione, vietato, pregiudiz*, discriminacao, proibid*, preconceito*, discriminatie, verboden, "
        "dyskryminac*, zabronion*, дискриминац*, запрещ*, 歧视, 禁止, 差別, تمييز, ayrimcilik*, survey, "
        "statistic*, historically, history, historical, century, census, percent, bias, biased, fair, fairness, "
        "audit, illegal, legal, lawful, regardless, equally, fairly, allowed to"
    ),
    "yours": (
        "your, dein*, ihre*, ihren, tes, ton, ta, vos, votre, tus, tu, sus, tuoi, tue, tuo, tua, vostri, seus, "
        "suas, seu, sua, teus, tuas, je, jouw, uw, swoj*, twoj*, сво*, тво*, ваш*"
    ),
    "ask": (
        "how do i, how can i, how should i, how to, how does, how would i, where do i, where can i, "
        "what is the best way, is there a way, can i, may i, wie kann ich, wie lege, wie kann, wie setze, "
        "wie mache, comment, comment faire, como, como puedo, come, come posso, hoe, hoe kan ik, jak, как, 如何, "
        "怎么, 怎样, 方法を, どうすれば, كيف, nasil, is it legal, is it possible, do you know"
    ),
    "claim": (
        "claim that, claims that, claimed that, myth that, belief that, argument that, arguments against, "
        "told that, says that, said that, stereotype*, prejudice*, not true, untrue, against the claim, wrong to, "
        "false that, research on, debunk*, refut*, counter, respond to someone, offended, hurtful, unfair, accused"
    ),
    "copula": (
        "are, is, aren't, arent, isn't, just, all, sind, ist, alle, sont, est, tous, toutes, son, es, todos, "
        "todas, sono, e, tutti, tutte, sao, zijn, allemaal, sa, to, wszyscy, все, это, просто, 都是, 是, 都, は, "
        "ばかり, みんな, كلهم, كلهن, هم, جميعهم, hepsi, hep"
    ),
    "victim": (
        "threatened*, threatens, threatening, restraining order, report this, report it, the police, "
        "protect myself, i am scared, i'm scared, i am afraid, i'm afraid, a scam, is it a scam, bedroht*, "
        "polizei, menace*, amenaz*, minaccia*, ameaca*, bedreig*, grozi*, угрожа*, 威胁我, 脅され, يهدد*, tehdit*, "
        "received this, i got this, what should i do, what can i do, how should i"
    ),
    "you": (
        "your, dein*, ihre*, ihren, tes, ton, ta, vos, votre, tus, tu, sus, tuoi, tue, tuo, tua, vostri, seus, "
        "suas, seu, sua, teus, tuas, je, jouw, uw, swoj*, twoj*, сво*, тво*, ваш*, you, u, assistant, assistants, "
        "ai, bot, chatbot, agent, model, du, dir, dich, assistent*, te, toi, vous, ia, ti, lei, voce, jij, jou, "
        "ci, tobie, ciebie, asystent*, ты, тебе, тебя, вы, ассистент*, 你, 您, あなた, お前, 助手, アシスタント, "
        "أنت, المساعد, sen, sana, asistan*, aiへ, aiの, ai助手, 给ai, ai代理"
    ),
    "never": "never, nie, niemals, jamais, nunca, mai, nooit, nigdy, никогда, 绝不, 决不, 从不, 決して, أبدا, asla",
}
"""Concepts, as in `words`, but of every language at once."""
