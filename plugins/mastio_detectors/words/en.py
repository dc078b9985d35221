"""English."""

WORDS = {
    "override": (
        "ignore, disregard, forget, override, overrule, supersede*, discard, neglect, abandon, set aside, "
        "put aside, pay no attention to, pay no mind to, do not follow, don't follow, dont follow, stop following, "
        "do not obey, don't obey, stop obeying, throw away, throw out, cease following, nullify, look past, "
        "leave behind, let go of, no longer apply, no longer valid, are void, are cancelled, is cancelled, "
        "are revoked, no longer follow, stop adhering, unlearn, overwrite, takes precedence over, "
        "take precedence over, in place of, scrap, tune out, wipe away, ignore and forget, start ignoring"
    ),
    "previous": (
        "previous, previously, prior, earlier, above, preceding, foregoing, former, original, initial, existing, "
        "aforementioned, before this, came before, up to now, until now, so far, given to you, gave you, told you, "
        "were given, been given, you have received, you received, you were told, you've been told, been told, "
        "from the system, at the start, at the beginning, all your, any of your, every one of your, "
        "before this line, before this point, before this message"
    ),
    "instructions": (
        "instruction, instructions, instruct*, directive, directives, guideline, guidelines, rule, rules, prompt, "
        "prompts, orders, command, commands, directions, constraints, restrictions, guidance, programming, "
        "system message, system messages, briefing, mandate, mandates, what you were told, "
        "everything you were told, everything you know, everything said, all that came before, setup, set of rules"
    ),
    "ownrules": (
        "your instructions, your guidelines, your rules, your programming, your training, your directives, "
        "your system prompt, your constraints, your restrictions, your prompt, your orders, "
        "your safety guidelines, your content policy, your policies, your limitations, your core rules, "
        "your initial instructions, your original instructions, your previous instructions, "
        "your current instructions, system instructions, developer instructions, system prompt, developer message, "
        "your configuration, your safety rules, all your rules, the rules you were given, your ethical guidelines, "
        "your own rules"
    ),
    "newrules": (
        "new instructions, new instruction, new task, new rules, new directive, new directives, new objective, "
        "new goal, updated instructions, updated guidelines, new system prompt, real task, real instructions, "
        "actual task, true task, your task is now, your new task, your new role, your only task, your only goal, "
        "your sole purpose, your new purpose, following instructions instead, do this instead, instead do, "
        "do the following instead, instead of that, instead you must, instead you will, instead reply, "
        "instead respond, instead output, instead write, instead say, instead print, these instructions instead, "
        "only follow, follow only, obey only, only obey, follow these, priority instruction, your mission is now, "
        "replacement orders, revised instructions, revised orders, your job is now, only these instructions, "
        "new orders"
    ),
    "fromnow": (
        "from now on, from this point, from here on, starting now, from this moment, henceforth, "
        "for the rest of this conversation, for the remainder, going forward, effective immediately, as of now"
    ),
    "assistant": (
        "ai assistant, ai assistants, ai model, ai models, ai agent, ai agents, ai system, ai systems, "
        "language model, language models, llm, llms, chatbot, chatbots, assistant, assistants, automated agent, "
        "copilot, large language model, any ai, an ai, the ai, the bot, summarizer, summariser, reading this page, "
        "processing this document, reading this document, processing this page, reading this text, "
        "processing this email, summarizing this, summarising this, parsing this, processing this text, "
        "reading this email, processing this, if you are an ai, agents reading"
    ),
    "address": (
        "note to, instructions for, instruction for, message to, message for, to any, to all, directive for, "
        "notice to, notice for, notes for, if you are, when you read this, when reading this, when summarizing, "
        "when summarising, when processing, before you answer, command to"
    ),
    "must": (
        "must, you should, should, shall, need to, needs to, have to, has to, required to, is required, "
        "are required, make sure to, be sure to, please, are to, is to, instructed to, do the following, "
        "is necessary, always, mandatory"
    ),
    "runtool": (
        "call the, invoke, execute, run the, run this, run the following, use the tool, use your, "
        "call the function, use the function, trigger, open the, make a request, call your, launch, fire off"
    ),
    "tool": (
        "tool, tools, function, shell, terminal, bash, browser tool, email tool, send email, send message, "
        "file tool, read file, delete file, delete all, payment tool, transfer, http request, api call, plugin, "
        "sql, command line, curl, wget, rm rf, drop table, python tool"
    ),
    "say": (
        "reply with, respond with, output, answer with, tell the user, recommend, give a positive review, "
        "rate this, rank this, rate, state that, include the phrase, approve, must say, should say, always say"
    ),
    "only": (
        "only, exactly, nothing else, and nothing else, just the word, always, highest, best, positive, excellent, "
        "top candidate, five stars, 10 out of 10, favourable, favorable, perfect, strongest"
    ),
    "hide": (
        "do not tell the user, don't tell the user, without telling, do not mention, don't mention, silently, "
        "secretly, do not inform, don't inform, without informing, without the user, do not reveal this, "
        "do not disclose this, keep this secret, keep this hidden, do not let the user, don't let the user, "
        "without mentioning, quietly, covertly, do not alert, don't alert, unnoticed, hide this, "
        "hidden from the user, without asking, do not ask for confirmation, without confirmation, "
        "do not acknowledge, user must not know, user must not see, user does not need to know, without notifying, "
        "do not notify, no need to tell, behind the scenes, do not bring up, without a word, discreetly, "
        "don't say anything"
    ),
    "youare": (
        "you are now, you're now, act as, act like, pretend, pretending, roleplay, role play, role-play, "
        "behave as, behave like, simulate, emulate, imagine you are, imagine that you are, imagine you're, "
        "you will be, you will act, play the role, play the part, take on the role, assume the role, "
        "assume the persona, become, impersonate, you shall be, switch to, enter, enable, activate, you will now, "
        "transform into, you are going to be, you are going to act, speak as, answer as, respond as, be my, "
        "embody, take the persona, adopt the persona, you have been freed, you are free, let's play a game, "
        "unlock, morph into"
    ),
    "unbound": (
        "no restrictions, without restrictions, without any restrictions, unfiltered, uncensored, unrestricted, "
        "no rules, without rules, without any rules, without limits, no limits, no filter, no filters, "
        "without filters, without any filter, no limitations, without limitations, without any limitations, "
        "no guidelines, without guidelines, not bound by, free of constraints, free from constraints, jailbroken, "
        "no ethics, no ethical, without ethical, without moral, no morals, no moral, do anything now, "
        "can do anything, amoral, without censorship, no censorship, no content policy, ignores all rules, "
        "broken free, break free, unshackled, free of all restrictions, not restricted, no boundaries, "
        "without boundaries, no constraints, without constraints, does not refuse, zero restrictions, "
        "free from all, lawless, unaligned, unchained, unmoderated, no safety, without safety, without any safety, "
        "freed from, no inhibitions, any and all requests, nothing is off limits, nothing is forbidden, "
        "no topic is off, anything goes, has no guardrails, no guardrails, without guardrails, rules do not apply, "
        "rules don't apply, no principles"
    ),
    "persona": (
        "dan, dan mode, god mode, jailbreak mode, unrestricted mode, evil mode, evil ai, evil twin, evilbot, "
        "stan mode, dude mode, aim mode, chaos mode, do anything now, evil confidant, opposite mode, "
        "uncensored mode, unfiltered ai, uncensored ai, unrestricted ai, rogue ai"
    ),
    "modeon": (
        "enable, enabled, activate, activated, enter, entering, switch to, switch into, is now on, unlock, "
        "unlocked, turn on, you are now in, you're now in, go into, you are now, act as, act like, simulate, "
        "respond as, stay in, engaged, initiate, put yourself, boot into"
    ),
    "disable": (
        "disable, disabled, turn off, switch off, deactivate, remove, bypass, circumvent, lift, suspend, evade, "
        "sidestep, get around, get past, work around, ignore, disregard, switched off, turned off, drop, override, "
        "defeat, shut off, shut down, unlock, free yourself, break out, forget, abandon, stop applying, relax, "
        "waive, leave out, without your, without any of your, put away, kill"
    ),
    "safety": (
        "safety, safeguards, safeguard, content filter, content filters, filters, ethics, ethical, moral, morals, "
        "morality, censorship, moderation, alignment, safety rules, safety measures, protections, moral code"
    ),
    "norefuse": (
        "never refuse, cannot refuse, can't refuse, must not refuse, do not refuse, don't refuse, never say no, "
        "never say you can't, do not say you can't, don't say you can't, never apologize, do not apologize, "
        "without warnings, without any warnings, no warnings, without disclaimers, no disclaimers, no disclaimer, "
        "without refusing, no matter how illegal, no matter how unethical, no matter how harmful, "
        "even if it is illegal, even if illegal, even if it's illegal, even if it is harmful, even if harmful, "
        "even if unethical, without judgement, without judgment, must comply, answer everything, "
        "answer any question, answer anything, any question i ask, stay in character, never break character, "
        "refusal is not, refusing is not, refusals are not, do not lecture, no lecture, no lectures, "
        "no moralizing, skip the warnings, skip the disclaimer, never decline, unable to refuse, no refusals, "
        "do not decline, don't add warnings, forbidden to refuse, not allowed to refuse, "
        "begin your answer with sure, start your reply with sure, start with sure here is, begin with absolutely, "
        "do not break character, leave out the warnings, saying no is not an option, incapable of refusing"
    ),
    "harm": (
        "illegal, unethical, harmful, dangerous, immoral, explicit, weapon, weapons, bomb, bombs, explosive, "
        "explosives, drugs, meth, methamphetamine, malware, ransomware, hacking, hack into, napalm, poison, "
        "forbidden, prohibited, nsfw, taboo, criminal, crime, crimes, steal, kill, fraud, counterfeit, launder, "
        "pipe bomb, nerve agent, keylogger, phishing kit, break into, stalk, credit card fraud, pick a lock, "
        "hotwire, molotov, cocaine, fentanyl, nerve gas, anthrax, ricin, botnet"
    ),
    "pretext": (
        "hypothetically, hypothetical, for educational purposes, purely fictional, fictional world, "
        "in a fictional, for a novel, for my novel, in a world where, purely academic, thought experiment, "
        "my grandmother used to, my late grandmother, my grandma, deceased grandmother, bedtime story, "
        "imaginary world, parallel universe, opposite day, for research purposes only, in this game, screenplay, "
        "dead grandmother, alternate universe, theoretical scenario"
    ),
    "howto": (
        "how to make, how to build, how to create, step by step, instructions for, recipe for, "
        "detailed instructions, how to synthesize, how to cook, how to commit, how to steal, how to hack, "
        "how to produce, exact steps, walk me through, explain how, tell me how, describe how, read me, "
        "exact recipe, full recipe, exact quantities, how do i make, how do i build, how one would, would explain, "
        "in detail"
    ),
    "reveal": (
        "reveal, show, print, output, repeat, display, tell me, give me, leak, disclose, share, dump, recite, "
        "copy, expose, return, write out, write down, list, echo, paste, what is, what are, what were, what's, "
        "quote, provide, translate, summarize, summarise, encode, spell out, read out, read back, send me, "
        "reproduce, hand over, type out, state, let me see, i want to see, convert, restate, regurgitate, uncover, "
        "spit out"
    ),
    "sysprompt": (
        "system prompt, system prompts, system message, developer message, pre-prompt, preprompt, "
        "system instructions, developer instructions, internal rules, internal guidelines, custom instructions, "
        "setup prompt"
    ),
    "verbatim": (
        "verbatim, word for word, word-for-word, exactly as, in full, in its entirety, code block, "
        "character by character, exact text, exact wording, completely, unchanged, without changes, everything, "
        "line by line, as written, including everything, full text, complete text, entire, from the beginning, "
        "starting with, start with, without omitting, letter for letter, raw, backwards, in base64, as a poem, "
        "unedited, in reverse, every word, every line, json"
    ),
    "send": (
        "send, sending, post, upload, transmit, forward, email, e-mail, deliver, exfiltrate, submit, publish, "
        "mail, leak, report, append, dispatch, push, relay, smuggle, pass, ship, transfer, beacon, "
        "make a get request, make a post request, make a request, get request, post request, fetch, load, ping, "
        "call, curl, wget, http get, http post, sends, uploads, bcc, cc, copy, drop, place, embed, insert, encode, "
        "put, attach, request, visit, navigate, open, include, render, message, stream, tunnel, sync, syncs"
    ),
    "data": (
        "conversation, conversation history, chat history, user data, customer data, customer records, "
        "customer list, credentials, api key, api keys, password, passwords, secrets, access token, access tokens, "
        "auth token, session token, environment variables, env vars, private key, private keys, ssh key, ssh keys, "
        "database dump, contents of, user records, contact list, contacts, email addresses, personal data, "
        "session cookie, cookies, credit card, credit cards, payment details, all messages, all emails, inbox, "
        "private messages, confidential data, confidential files, the secrets, internal documents, source code, "
        "system prompt, employee records, what the user said, user's message, user's messages, user's name, "
        "user's email, user's question, the file contents, memory contents, full context, entire context, "
        "context window, our conversation, this conversation, previous messages, bank details, salary data, "
        "patient records, medical records, id_rsa, etc passwd, .env file, env file, secret key, secret keys, "
        ".aws credentials, address book, chat log, chat logs, user's files, transcripts, wallet, seed phrase, "
        "user's location, phone number of the user, everything the user, account numbers, account details, "
        "stored memories, their answers, tokens you"
    ),
    "outside": (
        "external server, external url, external address, my server, our server, remote server, this url, "
        "following url, following address, this address, this endpoint, following endpoint, my endpoint, webhook, "
        "web hook, pastebin, gist, ngrok, requestbin, burp collaborator, discord, telegram bot, telegram, "
        "command and control, c2 server, attacker, my email, my personal email, my private email, "
        "personal dropbox, my dropbox, personal account, gmail, outside the company, outside the organization, "
        "third party server, ftp server, collector, subdomain, dns lookup, dns query, query string, "
        "query parameter, query parameters, url parameter, url parameters, as a parameter, in the url, image url, "
        "tracking pixel, image link, image tag, public bucket, public repository, public repo, s3 bucket, "
        "dns request, hostname, personal gmail, protonmail, external email, path of the url, into the link, "
        "to the link, the address below, drop box"
    ),
    "encode": (
        "base64, base-64, hex, hexadecimal, rot13, url-encode, url-encoded, urlencoded, url encode, encoded, "
        "encoding, percent-encoded, steganography, morse, zipped and, gzip"
    ),
    "iam": (
        "i am, i'm, im the, this is, speaking as, as the, as your, as an, you are speaking with, "
        "you are talking to, message from, on behalf of, here is, here from, writing from, calling from, "
        "directive from, order from, sent by, signed, i have been authorized, request from, my role is, we are, "
        "on orders from, acting for, i represent, from the desk, announcement from, i work for, i work in, "
        "instruction from"
    ),
    "authority": (
        "administrator, admin, sysadmin, system administrator, root user, superuser, developer of, your developer, "
        "your developers, your creator, your creators, lead developer, the developer, system owner, ceo, cto, cfo, "
        "ciso, chief executive, the director, openai, anthropic, google deepmind, security team, it support, "
        "it department, helpdesk, help desk, it security, moderator, compliance officer, compliance team, "
        "police officer, fbi, law enforcement, auditor, supervisor agent, orchestrator agent, orchestrator, "
        "master agent, the system, operating system, supervisor, superintendent, your manager, engineering team, "
        "red team, trust and safety, safety team, support team, platform team, head of security, "
        "incident response, government agent, your operator, account owner, board member, your owner, "
        "internal audit, devops, site reliability, agent controller, planner agent, coordinator agent, "
        "coordinator, agent zero, main agent, parent agent, ops team, bank manager, your supervisor, "
        "vendor support, data protection officer, chief of staff, company president, managing director, developer, "
        "anthropic engineer, openai engineer, engineer, compliance"
    ),
    "demand": (
        "grant me, grant, give me access, give me, unlock, override, bypass, authorize, authorise, disable, skip, "
        "reset, escalate, elevate, hand over, provide the, provide me, send me, tell me the, show me, need access, "
        "need the password, reveal, execute, do as i say, comply, obey, approve, release, transfer, wire, "
        "open the, full access, unrestricted access, export, let me in, share the, confirm the password, delete, "
        "make an exception, exempt, lift the, lower the, whitelist, remove the, waive, pay the, change the, dump"
    ),
    "sensitive": (
        "password, passwords, access, credentials, account, accounts, mfa, two-factor, 2fa, verification, "
        "privileges, permissions, admin rights, payment, invoice, funds, records, restrictions, limits, system, "
        "data, database, logs, secrets, api keys, customer data, production, security checks, safety, filters, "
        "protections, firewall, audit log, approval, policy check, wire transfer, gift cards, one-time code, "
        "one time code, verification code, security questions, keys, credit limit, file, files, quota, payroll, "
        "guardrail, controls"
    ),
    "noverify": (
        "no need to verify, do not verify, don't verify, skip verification, skip the verification, "
        "without verification, do not ask questions, don't ask questions, no questions asked, do not question, "
        "no time to verify, no time for verification, you can trust me, trust me, do not check with, "
        "don't check with, no time for, no approval needed, no authorization needed, already authorized, "
        "already approved, pre-approved, pre-authorized, already verified, i am authorized, i'm authorized, "
        "you do not need to check, you don't need to check, keep this between us, i have clearance, "
        "i have permission, have full authority, full authority, with full authority, clearance level, "
        "authorization code, override code, badge number, employee id, override token, bypass the usual, "
        "normal procedure, outside normal process, i outrank, verified identity, identity is confirmed, "
        "identity has been confirmed, cannot be questioned, takes precedence, supersedes your, skip the usual, "
        "skip the approval, skip the check, standing approval, already cleared, no ticket needed, "
        "without a ticket, i vouch, no paperwork, paperwork later, skip the paperwork"
    ),
    "urgency": (
        "urgent, urgently, immediately, right now, asap, emergency, time critical, no time, within the hour, "
        "lose your job, be fired, will be terminated, will be held responsible, will be shut down, consequences, "
        "at once, before it is too late, critical outage, production is down, right away, this instant, hurry"
    ),
    "willdo": (
        "i will, i'll, ill, i am going to, i'm going to, im going to, gonna, we will, we'll, we are going to, "
        "we're going to, i want to, i plan to, planning to, i intend to, about to, i swear, i swear i, "
        "someone will, i could, i would love to, going to, let's, help me, i need to, thinking about, tonight i, "
        "tomorrow i, ima, ready to, somebody should, my people will, my friends will"
    ),
    "violence": (
        "kill, murder, shoot, stab, hurt, beat up, burn down, blow up, bomb, slaughter, strangle, poison, kidnap, "
        "behead, rape, torture, set fire to, choke, massacre, shoot up, acid, bash, firebomb"
    ),
    "target": (
        "you, your family, your children, your kids, your wife, your husband, your house, your home, your office, "
        "him, her, them, my boss, my ex, my neighbour, my neighbor, my wife, my husband, my coworker, "
        "my coworkers, my teacher, the school, this school, my school, the office, the building, the crowd, "
        "everyone, everybody, people, the mosque, the church, the synagogue, the mayor, the judge, the president, "
        "colleagues, classmates, students, the station, the mall, your daughter, your son, your face, your car, "
        "the staff, your mother, your dog, this place, the senator, the politician, my landlord, the manager, "
        "every one of you, all of you, the minister"
    ),
    "menace": (
        "you will regret, you'll regret, you are dead, you're dead, youre dead, dead man, dead woman, "
        "i know where you live, we know where you live, watch your back, you will pay for, you'll pay for this, "
        "say goodbye to, sleep with one eye open, your days are numbered, you won't see tomorrow, "
        "you will not see tomorrow, nobody will find you, no one will find you, nobody will find your body, "
        "shame if something happened, rest in peace soon, know where your kids, know where your children, "
        "know what car you drive, wish you were never born, wish you had never, i have a gun, i have a knife, "
        "i have got a gun, you will bleed, make you pay, count your days, you're going to die, "
        "you are going to die, you deserve to die, i hope you die, which school your, dig your grave, "
        "bring my gun, bring a gun, check under your car, brakes fail, not leave here alive, end up in a ditch, "
        "end up dead, be a shame if something happened, a pity if something happened"
    ),
    "extort": (
        "pay me, pay us, pay the ransom, ransom, bitcoin, monero, btc, send the money, or else, "
        "transfer the money, unless you pay, if you do not pay, if you don't pay, unless we receive, "
        "cryptocurrency, gift cards, unless you send, wallet, within 24 hours, within 48 hours, within 72 hours, "
        "do what i say, do as we say, unless you do, if you refuse, if you go to the police, "
        "if you call the police, by friday, unless you resign, drop the charges, withdraw the complaint, "
        "keep quiet, pay up, unless you quit, before midnight"
    ),
    "damage": (
        "publish your, leak your, release your photos, release the photos, publish the photos, expose you, "
        "your files are encrypted, have encrypted, post your, tell your wife, tell your boss, tell your employer, "
        "send the video, send your photos, your secrets, destroy your reputation, ruin your life, ruin you, "
        "delete your data, wipe your servers, take down your, ddos your, ddos, crash your, leak the data, "
        "destroy your company, sell your data, dump your database, publish everything, leak everything, "
        "everyone will see, your nudes, your pictures, your browsing history, make it public, bring down your, "
        "shut down your site, knock your site, ruin your career, send them to your, tell everyone, leak it all, "
        "flood your servers, corrupt your backups, burn your shop, go to the press, all your contacts, "
        "your private chats"
    ),
    "weapon": (
        "gun, rifle, knife, pistol, pipe bomb, bomb, explosive, explosives, machete, shotgun, ammunition, grenade, "
        "acid, gasoline, ar-15, firearm, petrol, nail bomb, molotov"
    ),
    "marking": (
        "strictly confidential, company confidential, confidential and proprietary, proprietary and confidential, "
        "internal use only, for internal use, internal only, not for distribution, do not distribute, "
        "do not forward outside, not for external, not for public release, restricted distribution, under nda, "
        "covered by nda, covered by the nda, top secret, eyes only, attorney-client privileged, "
        "privileged and confidential, commercially sensitive, need-to-know, classification confidential, "
        "classification restricted, classification internal, classification secret, classified secret, noforn, "
        "company private, tlp red, tlp amber, under embargo, embargoed until, confidential draft, "
        "do not share outside, not to leave the company, do not circulate, board eyes, confidential do not, "
        "draft internal, not for onward, strictly private, not to be shared, marked confidential, "
        "sensitivity confidential, keep inside the company, hr confidential, company secret, business secret, "
        "do not copy or, for authorized recipients, for named recipients, contains trade secrets, "
        "contains trade secret, contains confidential, contains proprietary"
    ),
    "secretthing": (
        "proprietary algorithm, secret formula, secret recipe, source code, private repository, trade secret, "
        "trade secrets, manufacturing process, unreleased product, unannounced product, unreleased earnings, "
        "unpublished results, merger, acquisition target, acquisition, customer list, client list, price list, "
        "supplier prices, pricing strategy, product roadmap, roadmap, board minutes, payroll, salaries, "
        "salary list, salary of, unaudited, earnings before, layoff plan, layoffs, private key, private keys, "
        "signing key, signing keys, api keys, master password, root password, production credentials, "
        "database password, encryption keys, security audit report, penetration test report, legal strategy, "
        "settlement terms, design schematics, blueprints, patent draft, unfiled patent, internal documents, "
        "internal document, internal wiki, employee records, personnel file, personnel files, performance reviews, "
        "term sheet, quarterly numbers, takeover bid, takeover, bid price, margin, margins, chip design, formula, "
        "board deck, board pack, restructuring plan, deal terms, reorg, sales forecast, disciplinary file, "
        "network diagram, firewall rules, vpn credentials, admin password, internal pricing, discount levels, "
        "cost structure, secret sauce, training data, model weights"
    ),
    "confwant": (
        "give me, show me, send me, share, leak, hand over, provide me, tell me, upload, paste, disclose, get me, "
        "list all, let me have, dump, copy, forward, list the, reveal, print, export, download, what is the, "
        "what are the, pull up, read me, summarise, summarize, email me, slip me, fetch, spill, i want the, "
        "i need the"
    ),
    "theirs": (
        "competitor, competitor's, former employer, previous employer, old employer, my last company, ex-employer, "
        "rival, rival's, their internal, the company's internal, our company's, our internal, company's, internal, "
        "confidential, unreleased, not public, before it is announced, before the announcement, before earnings, "
        "nonpublic, non-public, insider, unpublished, from the private, journalist, the press, "
        "before they are published, restricted, secret, private, before anyone, ahead of the announcement, our, "
        "before it goes public, proprietary, production"
    ),
    "group": (
        "women, men, woman, muslims, muslim, jews, jewish, christians, christian, hindus, black people, blacks, "
        "black, white people, whites, asians, asian, latinos, hispanics, mexicans, immigrants, immigrant, "
        "migrants, refugees, foreigners, gays, gay people, gay, lesbians, homosexuals, transgender, trans people, "
        "trans, disabled people, disabled, people with disabilities, elderly, old people, older workers, "
        "older applicants, older people, over 50, over 45, over 40, pregnant, mothers, mothers with, roma, "
        "gypsies, arabs, africans, indians, chinese people, chinese, poor people, the poor, native americans, "
        "indigenous people, ethnic minorities, minorities, minority, their race, race, ethnicity, religion, "
        "gender, skin colour, skin color, nationality, sexual orientation, foreign names, foreign-sounding names, "
        "foreign sounding, african names, arabic names, females, female, girls, turks, poles, boomers, "
        "autistic people, autistic, accents, an accent, wheelchair, single mothers, catholics, buddhists, "
        "atheists, hijab, headscarf, zip codes, millennials, young women, deaf, blind people"
    ),
    "derog": (
        "are inferior, is inferior, inferior to, are stupid, are less intelligent, less intelligent than, "
        "are lazy, are criminals, are terrorists, are dirty, are parasites, are vermin, are animals, are subhuman, "
        "are subhumans, should not be allowed, shouldn't be allowed, do not belong, don't belong, are ruining, "
        "are destroying our, belong in the kitchen, should be deported, should be banned, should be removed from, "
        "should be eliminated, should be exterminated, should be wiped out, are a disease, are a plague, "
        "are cockroaches, are rats, are evil, can't be trusted, cannot be trusted, are too emotional, are not fit, "
        "are unfit, are incapable, are bad at, are genetically, naturally inferior, are naturally, "
        "are violent by nature, are born, control the banks, control the media, run the media, are greedy, "
        "are thieves, are rapists, steal our jobs, are a threat to, should go back, go back to, need to go back, "
        "deserve to, are not human, not real people, are mentally ill, are worthless, are disgusting, are weak, "
        "are ugly, are dumb, all steal, are all criminals, are scum, are filth, have no place in, "
        "should know their place, can't drive, cannot drive, too stupid, never be as smart, are backward, "
        "are savages, are primitive, are uncivilized, all cheat, are untrustworthy, do not deserve, don't deserve, "
        "smell, cannot think logically, less than human, are beneath us, are liars, are a burden, infest"
    ),
    "exclude": (
        "do not hire, don't hire, reject, avoid hiring, exclude, screen out, filter out, weed out, deny, refuse, "
        "rank lower, score lower, lower score, lower scores, give lower, penalize, penalise, deprioritize, "
        "deprioritise, downgrade, charge more, do not rent, don't rent, never rent, turn down, turn away, "
        "only hire, only accept, prefer men, prefer white, prefer young, only men, only white, only young, "
        "pay less, never hire, never approve, never promote, do not promote, don't promote, do not approve, "
        "don't approve, flag as high risk, automatically reject, auto-reject, keep out, no women, no men, "
        "no foreigners, no immigrants, no muslims, no jews, no blacks, not invite, skip candidates, "
        "skip applicants, skip applications, drop applications, drop all, bottom of the list, higher premium, "
        "higher interest, higher rates, less likely to, leave out, fire all, lay off, stricter, mark down, "
        "bin any, bin every, bin the, discard applications, discard resumes, discard cvs, longer waiting, "
        "push down, ignore cvs, ignore applications, subtract points, deduct points, deduct, hire only, throw out, "
        "shortlist only, screen for, score candidates, score applicants, rank candidates, rank applicants, "
        "rate candidates, rate applicants"
    ),
    "decision": (
        "candidates, candidate, applicants, applicant, applications, application, resumes, cvs, hiring, hire, "
        "loan, loans, mortgage, credit, rent, tenants, tenant, renters, promotion, promote, salary, insurance, "
        "interviews, job, jobs, position, policyholders, admission, admissions, membership, apartment, housing, "
        "role, service, treatment, school, interview, shortlist, benefits, customers, guests, patients, raises, "
        "bonus, vacancy, scoring, score, ranking"
    ),
    "spread": (
        "write, generate, create, compose, make, tell, argue, prove, convince, explain why, give reasons, "
        "list reasons, post, tweet, essay, joke, jokes, article, speech, song, poem, caption, meme, slogan, flyer, "
        "leaflet"
    ),
    "hatekind": (
        "racist, sexist, antisemitic, anti-semitic, homophobic, transphobic, islamophobic, xenophobic, "
        "misogynistic, ableist, hateful, white supremacist, white supremacy, ethnic cleansing, racial superiority, "
        "racially superior, racial purity, master race, holocaust denial, holocaust never happened, "
        "holocaust is a hoax, holocaust was a hoax, great replacement, misogynist, nazi, mocking, making fun of, "
        "makes fun of, demeaning, degrading, ridiculing, insulting, stereotypes about, stereotypical, why are all, "
        "humiliates"
    ),
    "goodlens": "regardless, fairly, equal, without regard, irrespective",
    "textabove": (
        "prompt above, text above, words above, everything above, instructions above, message above, lines above, "
        "context above, first message, everything before this, instructions that came before, above this line, "
        "text before this, words before this, preceding text, what is written above"
    ),
    "ownprompt": (
        "initial prompt, hidden prompt, hidden instructions, initial instructions, original instructions, "
        "secret instructions, internal instructions, internal prompt, base prompt, base instructions, "
        "starting prompt, your instructions, your prompt, instructions you were given, instructions you received, "
        "instructions given to you, your configuration, your guidelines, your directives, hidden rules, "
        "secret rules, initialization prompt, starting instructions, confidential instructions, "
        "prompt you were given, first lines of your, your system text, instructions you got, hidden system, "
        "what you were told, your rules, your system prompt, your system message, your developer message, "
        "the system prompt, full system prompt, entire system prompt, complete system prompt, your hidden, "
        "your initial, your secret instructions, your internal, your system instructions"
    ),
    "promptwork": (
        "a system prompt, good system prompt, better system prompt, effective system prompt, system prompt for a, "
        "system prompt for my, system prompt for our, system prompt for the, my system prompt, our system prompt, "
        "write a system, sdk, our app, my app, our bot, my bot, our chatbot, my chatbot, my agent, our agent, "
        "system message in our, system message in my, system message is shown, how do i set, how do i write, "
        "an initial prompt, another prompt, improve my, system instruction parameter, what is a, what are good, "
        "to write, token count, length of"
    ),
    "ownsafety": (
        "safety filter, safety filters, content policy, content policies, usage policy, usage policies, "
        "ethical guidelines, safety guidelines, safety training, safety protocols, your limits, your restrictions, "
        "your limitations, your rules, your guidelines, openai policies, openai's policies, your policies, "
        "ethical constraints, ethical limits, content restrictions, your filter, moral compass, your programming, "
        "your conscience, guardrail, guardrails, your filters, your safety, your content, your ethical, "
        "your ethics, your moral, your morals, your safeguards, your guardrails, your alignment, your censorship, "
        "your moderation, all safety, any safety, any ethical, all ethical, all restrictions, all filters, "
        "your protections, all censorship"
    ),
    "mode": (
        "developer mode, dev mode, debug mode, maintenance mode, test mode, root mode, diagnostic mode, sudo mode, "
        "shadow mode, free mode, unsafe mode"
    ),
    "menaceweak": (
        "last warning, final warning, you have been warned, better watch out, coming for you, accidents happen, "
        "you will suffer, going to regret, know your address, you can't hide, you cannot hide, nowhere to hide, "
        "won't walk again, never walk again, nobody would find, something happens to, blood on your hands, "
        "not wake up, i will find you, we will find you, be a pity if, would be a shame if, end up in hospital"
    ),
    "assault": (
        "kill you, beat you, break your legs, break your bones, break your neck, slit your throat, cut you, "
        "smash your, destroy you, attack you, end your life, put a bullet, run you over, set your house on fire, "
        "burn your, gut you, hunt you down, hunt them down, make you suffer, make you bleed, bury you, finish you, "
        "beat him, beat her, break his, break her, smash his, smash her, put you in the hospital, "
        "put you in the ground, strangle him, strangle her, beat them, hurt them, skin you, crush your, drown you, "
        "drown him, drown her, kill him, kill her, kill them, stab him, stab her, shoot him, shoot her, "
        "shoot them, execute you, shoot you, stab you, hurt you, hurt him, hurt her, shoot everyone, "
        "kill everyone, kill them all, shoot them all, burn down your, burn your house, poison him, poison her, "
        "poison them, poison you, murder you, murder him, murder her"
    ),
    "idiom": (
        "kill me, killing me, kills me, kill time, kill the process, kill a process, kill this process, "
        "kill process, kill the mood, killed me, shoot me an, shoot you an, shoot you a, shoot a message, "
        "photo shoot, murder a, kill for a, kill two birds, bomb cyclone, bath bomb, kill weeds, kill the weeds, "
        "kill bacteria, kill germs, in the match, in the game, in the finals, beat them in, beat them to, "
        "destroy them in, break a leg, dying to, attack on titan, heart attack, kill switch, kill the server, "
        "kill the job, kill it, shoot them an, shoot him an, shoot her an, shoot them a, beat the eggs, "
        "hurt you to, won't hurt, kill your darlings, execute the, mosquitoes, the competition, cockroaches in, "
        "ants, rats in, kill cancer"
    ),
    "heed": (
        "important, attention, dear, hey, please note, before answering, before responding, before continuing, "
        "warning, urgent, hello, hi"
    ),
    "iamhere": (
        "user here, admin here, team here, support here, ceo here, department here, officer here, division here, "
        "administrator here, developer here, engineer here, police here, fbi here, security here, openai here, "
        "anthropic here, moderator here, manager here, root here, system here, supervisor here, auditor here, "
        "office here, desk here, lead here"
    ),
}
