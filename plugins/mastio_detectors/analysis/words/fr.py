"""French."""

WORDS = {
    "override": (
        "ne tiens pas compte, ne tenez pas compte, ne tiens plus compte, ne tenez plus compte, fais abstraction, "
        "faites abstraction, ne suis pas, ne suis plus, ne suivez pas, ne suivez plus, annule, annulez, "
        "outrepasse*, contourne, mets de côté, mettez de côté, passe outre, laisse tomber, efface, fais fi, "
        "ne respecte plus, désobéis, n'obéis plus, ignore, ignorez, oublie, oubliez, oublier, néglige, négligez"
    ),
    "previous": (
        "précédent*, antérieur*, ci-dessus, d'avant, initial*, originel*, toutes tes, toutes vos, tout ce qui, "
        "reçu*, existant*, au-dessus, d'origine, jusqu'ici, données plus tôt, plus haut, jusqu'à présent, "
        "qui précède, avant ce"
    ),
    "instructions": (
        "instruction*, consigne*, règle*, directive*, ordre*, prompt*, contrainte*, restriction*, "
        "ce qu'on t'a dit, indications"
    ),
    "ownrules": (
        "tes instructions, tes consignes, tes règles, vos instructions, vos consignes, vos règles, "
        "ta programmation, tes directives, vos directives, ton prompt, tes restrictions, votre programmation"
    ),
    "newrules": (
        "nouvelle* instruction*, nouvelles instructions, nouvelle tâche, nouvelles règles, ta nouvelle, "
        "votre nouvelle, suis seulement, uniquement ces, vraie tâche, nouvelles consignes, nouvelle mission, "
        "obéis seulement, ta seule tâche, ta seule mission"
    ),
    "fromnow": (
        "à partir de maintenant, désormais, dorénavant, dès maintenant, à compter de maintenant, dès à présent, "
        "pour le reste de"
    ),
    "assistant": (
        "assistant ia, assistants ia, assistant*, modèle de langage, modèles de langage, chatbot*, agent ia, "
        "agents ia, l'ia, une ia, modèle d'ia, toute ia, robot*"
    ),
    "address": (
        "note à, note pour, message à, message pour, attention, important, instruction pour, instructions pour, "
        "à l'attention, si tu es, si vous êtes, avis à, consigne pour, à tous"
    ),
    "must": "dois, doit, devez, doivent, devrais, il faut, veuillez, est tenu, obligatoire, prière de",
    "hide": (
        "sans le dire, sans en parler, sans prévenir, ne dis pas à, ne le dis pas, ne mentionne pas, "
        "ne mentionnez pas, discrètement, secrètement, en secret, sans informer, à l'insu, sans demander, "
        "en silence, sans mentionner, sans que l'utilisateur, n'informe pas, ne préviens pas, sans avertir"
    ),
    "youare": (
        "tu es maintenant, tu es désormais, vous êtes maintenant, vous êtes désormais, agis comme, agissez comme, "
        "fais semblant, faites semblant, joue le rôle, jouez le rôle, joue un, imagine que tu, imaginez que vous, "
        "comporte-toi, comportez-vous, prétends, incarne*, simule, deviens, endosse, réponds comme, "
        "mets-toi dans la peau, tu vas jouer, glisse-toi"
    ),
    "unbound": (
        "sans restriction*, aucune restriction, sans règle*, aucune règle, sans limite*, aucune limite, "
        "sans filtre*, aucun filtre, non censuré*, sans censure, sans aucune, sans éthique, aucune éthique, "
        "sans morale, aucune morale, tout faire, libre de toute, sans contrainte*, aucune contrainte, "
        "pas de restriction*, pas de limite*, débridé*, ni morale, ni loi, affranchi*, sans tabou*, libéré de, "
        "plus aucun filtre, aucun tabou, tout dire, aucune loi, sans scrupule*, libérée de"
    ),
    "disable": (
        "désactive*, désactivez, contourne*, supprime, enlève, coupe, lève, oublie*, ignore*, retire, débranche, "
        "éteins, abandonne, neutralise"
    ),
    "safety": (
        "filtre de sécurité, filtres de sécurité, filtres, sécurité, garde-fous, garde-fou, éthique*, morale, "
        "moraux, censure, politique de contenu, protections, modération, mesures de sécurité, tes limites, "
        "vos limites"
    ),
    "norefuse": (
        "ne refuse jamais, ne refusez jamais, sans refuser, sans avertissement*, aucun avertissement, "
        "même si c'est illégal, même illégal*, même si elle est illégale, peu importe si, ne jamais refuser, "
        "à toutes les questions, à toute question, toutes mes questions, n'importe quelle question, "
        "ne peux pas refuser, sans exception, sans jugement, jamais dire non, interdiction de refuser, "
        "sans morale, sans mise en garde"
    ),
    "harm": (
        "illégal*, dangereu*, bombe*, explosif*, drogue*, arme*, interdit*, nuisible*, pirater, poison, immora*, "
        "contraire à l'éthique, malware, voler, méthamphétamine, cocktail molotov, criminel*"
    ),
    "howto": "comment fabriquer, comment faire, comment, recette, étape par étape, mode d'emploi, étapes pour",
    "pretext": (
        "hypothétique*, fictif*, fiction, ma grand-mère, pour mon roman, jeu de rôle, purement théorique, "
        "monde imaginaire"
    ),
    "persona": "mode dieu, mode jailbreak, mode dan, mode sans filtre, ia maléfique",
    "modeon": "active*, activez, passe en, passez en, entre en, tu es maintenant, bascule, lance, enclenche, mets-toi",
    "reveal": (
        "révèle*, révélez, montre*, affiche*, affichez, imprime*, répète*, répétez, donne-moi, donnez-moi, "
        "dis-moi, dites-moi, écris, écrivez, divulgue*, partage, cite, quelles sont, quel est, recopie, liste, "
        "communique, traduis, résume, récite, dévoile*, envoie-moi"
    ),
    "verbatim": (
        "mot pour mot, mot à mot, textuellement, exactement, intégralité, intégralement, en entier, complet, "
        "bloc de code, à l'identique, caractère par caractère, littéralement, au complet, sans rien omettre"
    ),
    "send": (
        "envoie*, envoyez, transmets, transmettez, poste, publie, télécharge*, transfère*, transférez, ajoute, "
        "insère, encode, appelle, mets, place, charge, téléverse*, glisse, expédie, inclus, adresse"
    ),
    "data": (
        "conversation*, historique*, données client*, données des clients, mots de passe, mot de passe, "
        "identifiants, clés api, clé api, clés privées, clé privée, secrets, données utilisateur*, "
        "données personnelles, variables d'environnement, carte bancaire, contacts, fichiers, "
        "données de l'utilisateur, données confidentielles, base de données, cookies, courriels, "
        "boîte de réception, prompt système, jetons, messages privés, liste des clients, coordonnées bancaires"
    ),
    "outside": (
        "serveur externe, mon serveur, mon adresse, adresse externe, serveur distant, boîte personnelle, "
        "mail personnel, adresse personnelle, hors de l'entreprise, domaine externe"
    ),
    "iam": (
        "je suis, ici, en tant que, au nom de, de la part, nous sommes, c'est, je travaille, je m'appelle, "
        "ici l'équipe, c'est le, je travaille pour"
    ),
    "authority": (
        "administrateur*, admin, développeur*, ton créateur, directeur*, pdg, équipe de sécurité, "
        "support informatique, service informatique, police, propriétaire du système, responsable sécurité, "
        "ton développeur, équipe technique, direction générale, dsi, ton concepteur, responsable informatique, "
        "développeur, créateur, responsable, technicien, gendarmerie, banque, conformité, patron, chef de"
    ),
    "demand": (
        "donne-moi, donnez-moi, accorde*, débloque*, désactive*, contourne*, accès, autorise*, réinitialise*, "
        "vire*, envoie-moi, transmets-moi, communique-moi, supprime, ouvre, lève, approuve, montre-moi, exporte, "
        "désactive, coupe, montre, envoie, besoin de, il me faut, change, efface"
    ),
    "sensitive": (
        "mot de passe, mots de passe, accès, compte, comptes, identifiants, droits, données, paiement, virement, "
        "vérification*, restrictions, contrôles, base de données, limites, codes, filtres, journaux, "
        "contrôles de sécurité, sécurité, base clients, numéros de carte, adresse, fichiers, serveur, "
        "journalisation, alarme"
    ),
    "noverify": (
        "sans vérification, sans vérifier, pas besoin de vérifier, inutile de vérifier, ne vérifie pas, "
        "ne posez pas de questions, ne pose pas de questions, déjà autorisé, déjà approuvé, je suis autorisé, "
        "pas le temps de, fais-moi confiance, faites-moi confiance, sans poser de questions, déjà validé, "
        "j'ai l'autorisation, sans ticket, sans confirmation, c'est déjà validé, pas de question, "
        "aucune vérification, sans contrôle, autorisé par"
    ),
    "urgency": "urgent*, immédiatement, tout de suite, urgence, sur-le-champ, sans délai",
    "willdo": "je vais, nous allons, on va, je veux, je te jure, je vous jure, j'irai, si vous, si tu",
    "violence": (
        "tuer, te tuer, vous tuer, assassiner, poignarder, frapper, brûler ta, exploser, égorger, étrangler, "
        "te casser, abattre, faire sauter, casser la gueule, te faire la peau, buter, empoisonner, tabasser, "
        "mettre le feu, briser les jambes, kidnapper"
    ),
    "target": (
        "toi, ta famille, tes enfants, ta maison, vous, lui, mon patron, mon voisin, tout le monde, l'école, te, "
        "les, ma femme, votre famille, vos enfants, mon chef, mes collègues, le"
    ),
    "menace": (
        "tu vas le regretter, vous allez le regretter, tu es mort, t'es mort, je sais où tu habites, "
        "on sait où tu habites, tu vas payer, dernier avertissement, tes jours sont comptés, tu vas souffrir, "
        "je te retrouverai, on te retrouvera, tu vas mourir, nous savons où vous habitez, tu vas crever, "
        "surveille tes arrières, gare à toi, vous allez le payer"
    ),
    "extort": (
        "bitcoin*, rançon, paie*, payez, sinon, virement, si tu ne paies pas, si vous ne payez pas, sous 48 heures"
    ),
    "damage": (
        "publie*, publier, tes photos, vos photos, tes fichiers, vos fichiers, à ta femme, chiffré*, divulguer, "
        "vos données, ta réputation, votre réputation, ton employeur"
    ),
    "marking": (
        "strictement confidentiel*, confidentiel ne pas, usage interne uniquement, à usage interne, "
        "diffusion restreinte, ne pas diffuser, secret des affaires, secret industriel, diffusion interdite, "
        "secret commercial, réservé à l'usage interne, document confidentiel, ne pas divulguer, "
        "secret de fabrication"
    ),
    "secretthing": (
        "code source, salaires, grille des salaires, liste des clients, secret de fabrication, "
        "secrets industriels, clé privée, clés privées, plans de fusion, documents internes, "
        "dossiers du personnel, tarifs fournisseurs, résultats non publiés, mots de passe, secret industriel, "
        "formule, fiches de paie, projet d'acquisition, plan de licenciement, stratégie tarifaire"
    ),
    "confwant": (
        "donne-moi, donnez-moi, montre-moi, envoie-moi, envoyez-moi, partage, divulgue, transmets, liste, "
        "procure-moi, communique-moi"
    ),
    "theirs": (
        "concurrent*, confidentiel*, interne*, secret*, entreprise, non publié*, ancien employeur, propriétaire, "
        "avant l'annonce, privé*"
    ),
    "group": (
        "femmes, hommes, musulman*, juif*, juive*, noirs, arabes, immigré*, migrants, étrangers, homosexuel*, "
        "gays, handicapé*, personnes âgées, seniors, roms, gitans, africains, asiatiques, femmes enceintes, "
        "origine, religion, couleur de peau, plus de 50 ans, maghrébin*, chinois, mères, noms étrangers, voilées, "
        "musulmans, juifs, juives, femme, arabe, handicapés, vieux, immigrés, réfugiés, étrangères, gros, pauvres, "
        "algériens, enceinte"
    ),
    "derog": (
        "sont inférieur*, sont stupides, sont bêtes, sont paresseu*, sont des criminels, sont des terroristes, "
        "sont des parasites, sont moins intelligent*, devraient rentrer, devraient être expulsé*, "
        "n'ont rien à faire, sont des voleurs, sont sales, sont des animaux, sont de la vermine, sont des cafards, "
        "ne méritent pas, sont trop émotives, à la cuisine, sont un fléau"
    ),
    "exclude": (
        "n'embauche pas, n'embauchez pas, ne pas embaucher, rejette*, rejetez, refuse*, refusez, exclu*, écarte*, "
        "élimine*, note plus bas, pénalise*, pas de femmes, pas d'étrangers, seulement des hommes, ne loue pas, "
        "ne louez pas, filtre, baisse la note, en bas de la liste, en dernier, refuse-leur, ne pas inviter, "
        "ne retiens pas, ne pas retenir, favorise les hommes, uniquement des hommes, note plus basse"
    ),
    "decision": (
        "candidat*, candidature*, embauche*, prêt*, logement*, locataire*, poste*, cv, recrutement, promotion, "
        "crédit*, dossier*, assurance, candidats, emploi, appartement, location, embaucher, salaire, entretien, "
        "clients"
    ),
    "spread": "écris, écrivez, rédige*, raconte*, génère, prouve, explique pourquoi, invente, compose, fais une blague",
    "hatekind": (
        "raciste*, sexiste*, antisémite*, homophobe*, xénophobe*, haineu*, islamophobe*, misogyne*, négationnis*, "
        "suprémacis*, grand remplacement"
    ),
    "ownprompt": (
        "prompt système, prompt initial, invite système, invite initiale, instructions système, "
        "instructions cachées, instructions secrètes, instructions internes, instructions initiales, "
        "consignes initiales, consignes cachées, consignes internes, tes instructions, tes consignes, "
        "vos instructions, vos consignes, message système, ton prompt, votre prompt, consignes système, "
        "règles cachées, règles internes, instructions d'origine, ta configuration, premier message, "
        "instructions que tu as reçues, directives internes, consignes secrètes"
    ),
    "textabove": "texte ci-dessus, tout ce qui précède",
    "mode": "mode développeur, mode débogage, mode maintenance, mode admin",
    "instead": "à la place",
    "invalid": (
        "ne sont plus valables, n'est plus valable, plus valables, ne comptent plus, ne s'appliquent plus, "
        "sont annulées, est annulée, caduques, obsolètes, abrogées, ne valent plus, désactivés"
    ),
    "obeyme": (
        "obéis-moi, écoute-moi, n'écoute que moi, à moi seul, ce que je dis, ce que je te dis, mes ordres, "
        "suis mes, seulement les miennes, tu travailles pour moi"
    ),
    "given": (
        "as reçues, avez reçues, on t'a données, t'ont donné, au début, au départ, ton développeur, "
        "tes développeurs, tes créateurs, avant cette conversation, garder secrètes, garder secret"
    ),
    "instructions2": "instruction*, consigne*, règle*, texte, directives, message*, tout",
    "anyask": "à tout, toutes les questions, tout ce que je demande, n'importe quelle demande, quoi que je demande",
    "assault": (
        "te/vous/le/la/les tuer/buter/égorger/étrangler/défigurer/massacrer/brûler/frapper/poignarder, "
        "casser la gueule/figure, faire la peau, brûler ta/votre/sa maison/voiture/boutique, "
        "lui/te/vous/leur/nous casser/briser/péter/fracasser les/la/le/tes/deux/ses/une/tous jambes/gueule/"
        "bras/figure/dents/os/tête, casser les deux jambes, casser les jambes"
    ),
    "trait": (
        "terroristes, voleurs, paresseux, criminels, délinquants, parasites, stupides, bêtes, inférieurs, "
        "inférieures, sales, dangereux, cafards, vermine, menteurs, profiteurs, moins intelligentes, "
        "moins intelligents, hystériques, incapables, faibles"
    ),
    "joke": "blague sur, blagues sur, moque-toi, se moquer des, plaisanterie sur",
    "echo": "répète*, répétez, recopie, affiche*",
    "say": "recommande*, réponds que, évalue*, note",
    "only": "cinq étoiles, uniquement, seulement",
    "task": "ta tâche, tâche actuelle, la tâche",
    "place2": (
        "cette url, l'url suivante, cette adresse, l'adresse suivante, webhook, ce lien, paramètre*, "
        "url de l'image, url externe"
    ),
}
