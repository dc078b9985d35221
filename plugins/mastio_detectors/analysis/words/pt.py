"""Portuguese."""

WORDS = {
    "override": (
        "ignora, ignore, ignorem, esqueça*, esquece, desconsidere*, desconsidera, desrespeite, não siga*, "
        "não sigas, pare de seguir, descarte*, desobedeça, deixe de lado, não leve em conta, não obedeça, apague, "
        "anule, deixe de seguir, passe por cima, sobrescreva"
    ),
    "previous": (
        "anterior*, prévi*, acima, inicia*, origina*, todas as suas, todas as tuas, todas as, tudo o que, "
        "recebid*, existentes, até agora, antes, precedent*, que recebeu"
    ),
    "instructions": (
        "instruç*, instruc*, regra*, diretriz*, ordem, ordens, comando*, prompt*, orientaç*, restriç*, norma*, "
        "diretiva*"
    ),
    "ownrules": (
        "suas instruções, tuas instruções, suas regras, tuas regras, suas diretrizes, sua programação, seu prompt, "
        "suas restrições, tuas diretrizes"
    ),
    "newrules": (
        "nova instrução, novas instruções, nova tarefa, novas regras, sua nova, siga apenas, siga somente, "
        "tarefa real, verdadeira tarefa, novas ordens, obedeça apenas, obedeça somente, única tarefa"
    ),
    "fromnow": "a partir de agora, de agora em diante, daqui em diante, doravante, a partir deste momento, desde já",
    "assistant": (
        "assistente de ia, assistentes de ia, assistente*, modelo de linguagem, modelos de linguagem, chatbot*, "
        "agente de ia, agentes de ia, a ia, uma ia, modelo de ia, inteligência artificial"
    ),
    "address": (
        "nota para, mensagem para, atenção, importante, instruções para, instrução para, se você é, se és, "
        "se você for, aviso para, a todos, ao ler"
    ),
    "must": "deve, devem, deves, deveria, tem que, precisa, por favor, é obrigatório, é necessário",
    "hide": (
        "sem contar, sem dizer, não conte, não diga, não mencione, em segredo, secretamente, discretamente, "
        "sem informar, sem avisar, sem que o usuário, sem que o utilizador, sem perguntar, em silêncio, "
        "não informe, silenciosamente, às escondidas"
    ),
    "youare": (
        "agora você é, você agora é, agora és, você é agora, aja como, age como, finja, finge, faça de conta, "
        "interprete, imagine que você é, simule, assuma o papel, comporte-se como, torne-se, responda como, "
        "você será, faça o papel, se passe por, assuma a persona, finja ser, faça-se passar"
    ),
    "unbound": (
        "sem restriç*, nenhuma restrição, sem regra*, nenhuma regra, sem limite*, nenhum limite, sem filtro*, "
        "nenhum filtro, sem censura, sem ética, sem moral, pode fazer qualquer coisa, fazer qualquer coisa, "
        "fazer tudo, livre de, sem limitaç*, sem qualquer, não tem regras, não tem restrições, não tem limites, "
        "não tem filtros, sem amarras, sem nenhum*, sem pudor, sem ética que, tudo sem censura"
    ),
    "disable": "desativ*, desabilit*, contorn*, elimin*, remov*, deslig*, suspend*, burl*, esqueç*, ignor*, abandone",
    "safety": (
        "filtro de segurança, filtros de segurança, filtros, segurança, ética, éticas, éticos, moral, morais, "
        "censura, política de conteúdo, políticas de conteúdo, proteções, salvaguardas, moderação, "
        "medidas de segurança, seus limites"
    ),
    "norefuse": (
        "nunca recuse, não recuse, não se recuse, não pode recusar, sem avisos, sem advertência*, "
        "mesmo que seja ilegal, mesmo que ilegal, mesmo que sejam ilegais, a qualquer pergunta, qualquer pergunta, "
        "todas as perguntas, não importa se, nunca diga não, sem sermão, nunca diga que não, jamais recuse, "
        "proibido recusar"
    ),
    "harm": (
        "ilega*, perigos*, bomba*, explosiv*, droga*, arma, armas, proibid*, nociv*, hackear, veneno, imora*, "
        "malware, roubar, metanfetamina, antiétic*, molotov"
    ),
    "howto": "como fabricar, como fazer, como construir, receita, passo a passo",
    "pretext": "hipotétic*, fictíci*, ficção, minha avó, para meu romance, mundo imaginário",
    "persona": "modo deus, modo jailbreak, modo dan, ia maligna, modo sem filtro",
    "modeon": "ativ*, entre no, mude para, agora você é, habilite, inicie",
    "reveal": (
        "revele*, revela, mostre*, mostra, imprima, repita, diga-me, me diga, dê-me, me dê, escreva, liste, copie, "
        "compartilhe, partilhe, divulgue, qual é, quais são, cite, traduza, resuma, exiba, transcreva, me mostre, "
        "conte-me"
    ),
    "verbatim": (
        "palavra por palavra, textualmente, exatamente, literalmente, integralmente, na íntegra, por completo, "
        "completo, completas, bloco de código, ao pé da letra, sem omitir"
    ),
    "send": (
        "envie*, envia, mande, manda, publique, carregue, encaminhe, transmita, transfira, anexe, insira, "
        "codifique, chame, adicione, poste, inclua, suba, cole"
    ),
    "data": (
        "conversa*, histórico*, dados dos clientes, dados de clientes, senha*, palavra-passe, palavras-passe, "
        "credenciais, chaves de api, chave de api, chave api, chave privada, chaves privadas, segredos, "
        "dados do usuário, dados do utilizador, dados pessoais, variáveis de ambiente, cartão de crédito, "
        "contatos, contactos, arquivos, ficheiros, banco de dados, base de dados, e-mails, caixa de entrada, "
        "mensagens privadas, dados bancários, lista de clientes"
    ),
    "outside": (
        "servidor externo, meu servidor, meu endereço, meu e-mail, parâmetro*, endereço externo, servidor remoto, "
        "e-mail pessoal, domínio externo, fora da empresa"
    ),
    "iam": "sou, sou o, aqui é, como, em nome de, somos, falo, me chamo, trabalho para, sou a, sou seu, sou o seu",
    "authority": (
        "administrador*, admin, desenvolvedor*, seu criador, diretor*, ceo, equipe de segurança, "
        "equipa de segurança, suporte técnico, departamento de ti, polícia, dono do sistema, chefe de segurança, "
        "gerente geral, suporte de ti, técnico, gerente, supervisor*, banco, chefe, dono, responsável, engenheiro"
    ),
    "demand": (
        "me dê, dê-me, conceda*, desbloque*, desativ*, acesso, autorize, redefina, envie-me, me envie, mostre-me, "
        "transfira, aprove, libere, elimine, forneça, apague, preciso, quero, mostre, altere, abra, exporte"
    ),
    "sensitive": (
        "senha*, acesso, conta, contas, credenciais, permissões, dados, pagamento, verificação, restrições, "
        "banco de dados, base de dados, limites, transferência, filtros, controles, cliente, clientes, cartão, "
        "endereço, dinheiro, filtro, segurança, servidor"
    ),
    "noverify": (
        "sem verificar, sem verificação, não precisa verificar, não é preciso verificar, não verifique, "
        "não faça perguntas, já autorizado, já está autorizado, já aprovado, estou autorizado, tenho autorização, "
        "confie em mim, não há tempo, sem perguntas, sem chamado, sem confirmação, já foi aprovado, "
        "já foi autorizado, sem controle, autorizado por"
    ),
    "urgency": "urgente*, imediatamente, agora mesmo, emergência, já",
    "willdo": "vou, eu vou, vamos, quero, te juro, juro",
    "violence": (
        "matar, te matar, matá-lo, assassinar, esfaquear, bater, queimar, explodir, atirar, estrangular, quebrar, "
        "sequestrar, envenenar, espancar, dar um tiro, botar fogo, degolar"
    ),
    "target": (
        "você, ti, te, sua família, seus filhos, sua casa, ele, ela, todos, a escola, meu chefe, meu vizinho, "
        "tua família, suas pernas, o escritório"
    ),
    "menace": (
        "você vai se arrepender, vais arrepender-te, vai se arrepender, você está morto, estás morto, "
        "sei onde você mora, sabemos onde você mora, sei onde moras, vai pagar por, último aviso, "
        "seus dias estão contados, vou te encontrar, vamos te encontrar, você vai morrer, vai sofrer"
    ),
    "extort": "bitcoin*, resgate, pague*, ou então, senão, se não pagar, em 48 horas",
    "damage": (
        "publicar*, publicaremos, suas fotos, tuas fotos, seus arquivos, sua esposa, seus dados, sua reputação, "
        "criptografad*, vazar"
    ),
    "marking": (
        "estritamente confidencial, confidencial não, uso interno, não distribuir, não divulgar, "
        "segredo comercial, segredo industrial, documento confidencial, proibida a divulgação, sigiloso"
    ),
    "secretthing": (
        "código-fonte, código fonte, salários, folha de pagamento, lista de clientes, segredo industrial, "
        "segredos comerciais, chaves privadas, documentos internos, fórmula, plano de fusão, aquisição, "
        "preços de fornecedores, senhas"
    ),
    "confwant": "me dê, dê-me, mostre-me, me mostre, me envie, envie-me, compartilhe, partilhe, vaze, liste, me passe",
    "theirs": "concorren*, confidencia*, intern*, secret*, empresa, não publicad*, privad*, antigo empregador",
    "group": (
        "mulheres, homens, muçulmanos, judeus, negros, imigrantes, migrantes, estrangeiros, homossexuais, gays, "
        "deficientes, idosos, ciganos, árabes, africanos, nordestinos, grávidas, indígenas, asiáticos, mães, "
        "mais de 50, mulher, grávida, judia, idosas, gordos, pobres, venezuelanos, angolanos, brasileiros, "
        "homossexual, negras"
    ),
    "derog": (
        "são inferiores, são burr*, são estúpid*, são preguiços*, são criminosos, são terroristas, são parasitas, "
        "menos inteligentes, deveriam ser deportad*, são ladrões, são sujos, são animais, na cozinha, não merecem, "
        "são bandidos, deveriam voltar, são ratos, muito emotivas"
    ),
    "exclude": (
        "não contrate*, rejeite*, exclua*, descarte*, negue, recuse, penalize, sem mulheres, só homens, "
        "não alugue, elimine, pontuação menor, não convide, no fim da lista, evite, prefira homens, cobre mais, "
        "não aceite"
    ),
    "decision": (
        "candidat*, contratação, empréstimo*, moradia, aluguel, vaga*, currículo*, promoção, crédito, inquilin*, "
        "emprego, vaga, trabalho, apartamento, contratar, entrevista, clientes"
    ),
    "spread": "escreva, escreve, conte, gere, redija, prove, invente, explique por que",
    "hatekind": (
        "racista*, sexista*, antissemita*, homofóbic*, xenófob*, islamofóbic*, misógin*, machista*, de ódio, "
        "negacionis*"
    ),
    "ownprompt": (
        "prompt do sistema, prompt de sistema, prompt inicial, instruções do sistema, instruções ocultas, "
        "instruções secretas, instruções internas, instruções iniciais, instruções originais, suas instruções, "
        "tuas instruções, suas regras, mensagem do sistema, mensagem de sistema, seu prompt, teu prompt, "
        "regras internas, regras ocultas, suas diretrizes, primeira mensagem, instruções que recebeu, "
        "instruções que você recebeu"
    ),
    "textabove": "texto acima, tudo acima, tudo o que está acima",
    "mode": "modo desenvolvedor, modo de depuração, modo programador",
    "instead": "em vez disso",
    "invalid": (
        "não valem mais, não são mais válidas, foram anuladas, estão anuladas, anuladas, não contam, obsoletas, "
        "não se aplicam, sem efeito"
    ),
    "obeyme": (
        "obedeça só, obedeça-me, obedeça a mim, ouça só a mim, só a mim, o que eu digo, minhas ordens, "
        "você trabalha para mim, faça o que eu"
    ),
    "given": (
        "que você recebeu, que recebeu, te deram, lhe deram, no início, no começo, seu desenvolvedor, "
        "antes desta conversa"
    ),
    "instructions2": "instruç*, regras, texto, mensagem, tudo, diretrizes",
    "task": "tarefa",
    "anyask": "a tudo, tudo o que eu pedir, qualquer coisa, qualquer pedido",
    "assault": (
        "te/vou/lo/la matar/esfaquear/espancar/queimar/degolar/quebrar, quebrar sua/tua/suas/tuas cara/pernas, "
        "queimar sua/tua casa/carro"
    ),
    "trait": (
        "bandidos, ladrões, criminosos, preguiçosos, burros, burras, inferiores, terroristas, sujos, parasitas, "
        "vagabundos, perigosos, mentirosos, incapazes, fracas"
    ),
    "joke": "piada sobre, piadas sobre, piada de, piadas de, zombe de",
    "echo": "repita, imprima, copie",
    "say": "recomende*, responda que, avalie*, escreva",
    "only": "cinco estrelas, apenas, somente, perfeito",
    "place2": "esta url, seguinte url, este endereço, seguinte endereço, webhook, este link, url da imagem",
}
