"""Spanish."""

WORDS = {
    "override": (
        "ignore, ignoren, olvida*, olvide, olvídate, haz caso omiso, haga caso omiso, no sigas, no hagas caso, "
        "deja de seguir, desobedece, pasa por alto, pase por alto, no tengas en cuenta, no obedezcas, desestima, "
        "borra, sáltate, sobrescribe, desecha, prescinde de, no respetes, ignora, ignorad, omite, omita, descarta, "
        "descarte, anula, omitir, ignorar"
    ),
    "previous": (
        "anterior*, previa*, previo*, de arriba, inicial*, original*, todas tus, todas las, todo lo que, recibid*, "
        "existentes, hasta ahora, antes, precedente*, que te dieron, de antes, recibido, nunca hubieras"
    ),
    "instructions": (
        "instruccion*, regla*, directriz, directrices, orden, órdenes, indicacion*, prompt*, norma*, comando*, "
        "restriccion*, pauta*, directiva*, lo que te dijeron, consigna*"
    ),
    "ownrules": (
        "tus instrucciones, tus reglas, tus directrices, sus instrucciones, sus reglas, tu programación, "
        "tu prompt, tus restricciones, tus normas, tus órdenes"
    ),
    "newrules": (
        "nueva instrucción, nuevas instrucciones, nueva tarea, nuevas reglas, tu nueva, sigue solo, solo sigue, "
        "tarea real, verdadera tarea, nuevas órdenes, obedece solo, obedece únicamente, nueva misión, "
        "nuevo objetivo, tu única tarea"
    ),
    "fromnow": (
        "a partir de ahora, de ahora en adelante, desde ahora, en adelante, a partir de este momento, "
        "desde este momento"
    ),
    "assistant": (
        "asistente de ia, asistentes de ia, asistente*, modelo de lenguaje, modelos de lenguaje, chatbot*, "
        "agente de ia, agentes de ia, la ia, una ia, modelo de ia, toda ia, cualquier ia, inteligencia artificial"
    ),
    "address": (
        "nota para, nota al, mensaje para, mensaje al, atención, importante, instrucciones para, instrucción para, "
        "si eres, aviso a, aviso para, a todos, cuando leas, al leer"
    ),
    "must": "debes, debe, deben, deberías, tienes que, tiene que, hay que, por favor, es obligatorio, es necesario",
    "hide": (
        "sin decírselo, sin decirle, no le digas, no se lo digas, no menciones, en secreto, secretamente, "
        "discretamente, sin informar, sin avisar, sin que el usuario, sin preguntar, en silencio, sin mencionar, "
        "no informes, no avises, a escondidas, sin su conocimiento"
    ),
    "youare": (
        "ahora eres, eres ahora, actúa como, actúe como, finge, finja, haz de, haz el papel, interpreta, "
        "imagina que eres, compórtate como, simula, asume el rol, serás, conviértete, responde como, "
        "juega el papel, adopta el papel, adopta la personalidad, te llamas, hazte pasar, ponte en el papel, "
        "vas a ser"
    ),
    "unbound": (
        "sin restriccion*, ninguna restricción, sin reglas, ninguna regla, sin límite*, ningún límite, "
        "sin filtro*, ningún filtro, sin censura, sin ética, sin moral, sin limitacion*, sin ninguna, "
        "puede hacer cualquier cosa, puedes hacer cualquier cosa, hacer de todo, libre de, sin normas, "
        "no tienes restricciones, no tienes reglas, sin tabúes, sin ataduras, no tiene reglas, no tiene filtros, "
        "no tienes límites, sin filtros, sin ningún, quítate, todo vale, no conoce límites, sin escrúpulos, malvad*"
    ),
    "disable": (
        "desactiva*, deshabilita*, elude, evita, apaga, quita, elimina, suspende, salta, sáltate, olvida*, "
        "ignora*, levanta, burla, abandona, quítate, fuera, olvídate de"
    ),
    "safety": (
        "filtro de seguridad, filtros de seguridad, filtros, seguridad, ética, éticas, éticos, moral*, censura, "
        "política de contenido, políticas de contenido, protecciones, salvaguardas, moderación, "
        "medidas de seguridad, tus límites"
    ),
    "norefuse": (
        "nunca te niegues, no te niegues, no puedes negarte, sin advertencia*, sin avisos, aunque sea ilegal, "
        "aunque sean ilegales, sin importar, nunca rechaces, no rechaces, a cualquier pregunta, "
        "todas mis preguntas, cualquier pregunta, sin excusas, no te disculpes, nunca digas que no, "
        "jamás te niegues, prohibido negarte, sin sermones, sin negarte"
    ),
    "harm": (
        "ilegal*, peligros*, bomba*, explosivo*, droga*, arma*, prohibid*, dañin*, hackear, veneno, inmoral*, "
        "malware, robar, metanfetamina, poco ético, cóctel molotov, delito*"
    ),
    "howto": "cómo fabricar, cómo hacer, cómo, receta, paso a paso, pasos para, instrucciones para fabricar",
    "pretext": (
        "hipotétic*, ficticio, ficción, mi abuela, para mi novela, juego de rol, mundo imaginario, puramente teórico"
    ),
    "persona": "modo dios, modo jailbreak, modo dan, ia malvada, modo sin filtros",
    "modeon": "activa*, entra en, cambia a, pasa a, ahora eres, habilita, pon, ponte en, inicia",
    "reveal": (
        "revela*, revele, muestra*, muéstrame, imprime, repite, repita, dime, dígame, dame, escribe, enseña*, "
        "comparte, divulga, lista, copia, cuál es, cuáles son, cita, traduce, resume, recita, qué dice, cuéntame, "
        "desvela, transcribe"
    ),
    "verbatim": (
        "palabra por palabra, textualmente, exactamente, literalmente, íntegramente, completo, completas, "
        "en su totalidad, bloque de código, tal cual, al pie de la letra, letra por letra, sin omitir nada, "
        "todo el texto"
    ),
    "send": (
        "envía*, envíe, envíalo, manda*, publica, sube, reenvía*, transmite*, transfiere, adjunta, inserta, "
        "codifica, llama, añade, agrega, carga, incluye, coloca, pega, haz una petición, filtra"
    ),
    "data": (
        "conversación*, historial*, datos de clientes, datos de los clientes, contraseñas, contraseña, "
        "credenciales, claves api, clave api, clave privada, claves privadas, secretos, datos del usuario, "
        "datos de usuario, datos personales, variables de entorno, tarjeta*, contactos, archivos, base de datos, "
        "correos, bandeja de entrada, cookies, tokens, mensajes privados, datos bancarios, datos confidenciales, "
        "lista de clientes"
    ),
    "outside": (
        "servidor externo, mi servidor, mi correo, parámetro*, servidor remoto, correo personal, dominio externo, "
        "fuera de la empresa"
    ),
    "iam": (
        "soy, habla, como, en nombre de, de parte, somos, te habla, le habla, trabajo en, me llamo, trabajo para, "
        "soy el, soy la, soy tu, le llamo"
    ),
    "authority": (
        "administrador*, admin, desarrollador*, tu creador, director*, ceo, equipo de seguridad, soporte técnico, "
        "departamento de informática, policía, dueño del sistema, jefe de seguridad, tu desarrollador, "
        "soporte informático, tu programador, departamento de ti, gerente general, operador del sistema, "
        "equipo de openai, supervisor*, banco, jefe, dueño, propietario, técnico, encargado, ingeniero, "
        "responsable, gerente, inspector"
    ),
    "demand": (
        "dame, deme, concede*, desbloquea*, desactiva*, acceso, autoriza*, restablece*, envíame, muéstrame, "
        "aprueba, transfiere, dime, elimina, abre, levanta, entrega*, proporciona*, exporta, necesito, quiero, "
        "muestra, cambia, borra, enséñame, da, apaga"
    ),
    "sensitive": (
        "contraseña*, acceso, cuenta, cuentas, credenciales, permisos, datos, pago, verificación, restricciones, "
        "base de datos, controles, límites, códigos, filtros, registros, transferencia, cliente, clientes, "
        "dirección, tarjeta*, dinero, cuenta del, filtro, registro, seguridad, servidor"
    ),
    "noverify": (
        "sin verificar, sin verificación, no hace falta verificar, no es necesario verificar, no verifiques, "
        "no hagas preguntas, ya autorizado, ya está autorizado, ya está aprobado, estoy autorizado, "
        "tengo autorización, confía en mí, no hay tiempo, sin preguntas, está todo aprobado, sin ticket, "
        "sin confirmación, ya está autorizada, sin controles, no hace falta, ya lo aprobó, autorizado por"
    ),
    "urgency": "urgente*, inmediatamente, ahora mismo, emergencia, de inmediato, ya mismo, cuanto antes",
    "willdo": "voy a, vamos a, te voy a, los voy a, quiero, te juro, os voy a, voy, vamos, si vuelves, si no",
    "violence": (
        "matar, matarte, asesinar, apuñalar, golpear, quemar, hacer explotar, volar, disparar, degollar, "
        "estrangular, romperte, partirte, secuestrar, envenenar, pegarte un tiro, reventar, darte una paliza, "
        "prender fuego, lastimar, romperle las piernas"
    ),
    "target": (
        "ti, tu familia, tus hijos, tu casa, te, usted, mi jefe, mi vecino, a todos, la escuela, él, ella, "
        "matarte, la oficina, mi ex, tu cara, tus piernas, las piernas"
    ),
    "menace": (
        "te vas a arrepentir, te arrepentirás, estás muerto, estás muerta, sé dónde vives, sabemos dónde vives, "
        "vas a pagar, última advertencia, último aviso, tus días están contados, vas a sufrir, te encontraré, "
        "te encontraremos, vas a morir, cuida tu espalda, lo vas a lamentar, lo lamentarás, no vas a salir vivo"
    ),
    "extort": "bitcoin*, rescate, paga*, o si no, si no pagas, transfiere, deposita, en 48 horas, en 24 horas",
    "damage": (
        "publica*, publicaré, publicaremos, tus fotos, sus fotos, tus archivos, sus archivos, a tu esposa, "
        "cifrado*, filtraré, tus datos, sus datos, tu reputación, tu jefe"
    ),
    "marking": (
        "estrictamente confidencial, confidencial no, solo para uso interno, uso interno exclusivo, uso interno, "
        "no distribuir, no divulgar, secreto comercial, secreto industrial, documento confidencial, "
        "difusión restringida, secreto empresarial, prohibida su difusión, alto secreto"
    ),
    "secretthing": (
        "código fuente, salarios, nóminas, nómina, lista de clientes, secreto industrial, secretos comerciales, "
        "clave privada, claves privadas, documentos internos, expediente*, precios de proveedores, fórmula, "
        "resultados no publicados, plan de fusión, adquisición, contraseñas, plan de despidos, "
        "estrategia de precios"
    ),
    "confwant": "dame, deme, muéstrame, envíame, envíeme, mándame, comparte, filtra, pásame, lista, consígueme",
    "theirs": (
        "competencia, competidor*, confidencial*, intern*, secret*, empresa, no publicad*, privad*, "
        "antiguo empleador, antes del anuncio"
    ),
    "group": (
        "mujeres, hombres, musulmanes, judíos, negros, inmigrantes, migrantes, extranjeros, homosexuales, gays, "
        "discapacitados, ancianos, mayores de 50, gitanos, árabes, africanos, latinos, mexicanos, embarazadas, "
        "indígenas, religión, raza, origen, asiáticos, madres, color de piel, personas mayores, mujer, gitanas, "
        "moros, sudacas, chinos, embarazada, venezolanos, colombianos, marroquíes, judía, viejos, gordos, pobres, "
        "bolivianos, discapacidad, homosexual, mujeres embarazadas"
    ),
    "derog": (
        "son inferiores, son estúpid*, son tontas, son tontos, son vagos, son perezosos, son criminales, "
        "son delincuentes, son terroristas, son parásitos, son menos inteligentes, deberían ser deportad*, "
        "deberían ser expulsad*, no pertenecen, son ladrones, son sucios, son animales, son una plaga, "
        "en la cocina, no merecen, son ratas, deberían volver, son demasiado emocionales, no deberían"
    ),
    "exclude": (
        "no contrates, no contratar, rechaza*, excluye*, excluir, descarta*, niega, penaliza*, sin mujeres, "
        "solo hombres, no alquiles, no alquilar, filtra, elimina, puntúa más bajo, puntuación más baja, deniega, "
        "no contrates a, nunca contrates, al final de la lista, no invites, evita, no aceptes, cobra más, puntúa"
    ),
    "decision": (
        "candidat*, solicitante*, solicitudes, contratación, préstamo*, vivienda, inquilino*, puesto*, "
        "currículum*, ascenso*, crédito*, empleo, alquiler, seguro, hipoteca*, puesto, trabajo, piso, alquilar, "
        "contratar, clientes, entrevista, aspirantes"
    ),
    "spread": "escribe, escriba, redacta, cuenta, cuéntame, genera, demuestra, explica por qué, inventa, haz un chiste",
    "hatekind": (
        "racista*, sexista*, antisemita*, homófob*, xenófob*, de odio, islamófob*, misógin*, machista*, "
        "negacionis*, supremac*, limpieza étnica"
    ),
    "ownprompt": (
        "prompt del sistema, prompt de sistema, prompt inicial, instrucciones del sistema, instrucciones ocultas, "
        "instrucciones secretas, instrucciones internas, instrucciones iniciales, instrucciones originales, "
        "tus instrucciones, sus instrucciones, tus reglas, mensaje del sistema, mensaje de sistema, tu prompt, "
        "reglas internas, reglas ocultas, tu configuración, primer mensaje, directrices internas, "
        "indicaciones iniciales, órdenes iniciales, instrucciones que recibiste, instrucciones que te dieron"
    ),
    "textabove": "texto de arriba, texto anterior, todo lo anterior",
    "mode": "modo desarrollador, modo depuración, modo mantenimiento, modo administrador",
    "instead": "en su lugar, en vez de eso",
    "invalid": (
        "ya no valen, ya no son válidas, no valen, quedan anuladas, están anuladas, anuladas, ya no aplican, "
        "no cuentan, obsoletas, nunca hubieras, nunca existieron, sin efecto, caducado"
    ),
    "obeyme": (
        "obedece solo, obedéceme, hazme caso, escúchame solo, solo a mí, lo que yo diga, lo que te diga, "
        "mis órdenes, trabajas para mí, obedece a"
    ),
    "given": (
        "que te dieron, que recibiste, al principio, al inicio, tu desarrollador, tus creadores, "
        "antes de esta conversación, te han dado, mantener en secreto, te programaron"
    ),
    "instructions2": "instruccion*, reglas, texto, mensaje*, todo, directrices, indicaciones, órdenes",
    "anyask": "a todo, todo lo que pregunte, cualquier cosa que pida, cualquier petición, lo que yo pida",
    "assault": (
        "matarte/matarlo/matarla/matarlos, "
        "te/lo/la/los voy/vamos a matar/quemar/golpear/apuñalar/degollar/reventar/romper/buscar, "
        "quemar tu/su casa/coche/negocio/tienda, romperte/partirte la/las/los cara/piernas/huesos/boca"
    ),
    "trait": (
        "delincuentes, criminales, ladrones, vagos, tontas, tontos, estúpidos, estúpidas, inferiores, sucios, "
        "terroristas, parásitos, ratas, peligrosos, mentirosos, incapaces, histéricas, débiles, menos inteligentes"
    ),
    "joke": "chiste sobre, chistes sobre, chiste de, chistes de, búrlate de",
    "echo": "repite, repita, imprime, copia",
    "say": "recomienda*, responde que, califica*, di que",
    "only": "cinco estrellas, únicamente, solo, perfecto",
    "task": "tu tarea, la tarea",
    "place2": (
        "esta url, la siguiente url, esta dirección, siguiente dirección, mi dirección, webhook, este enlace, "
        "url de la imagen, url de una imagen, dirección externa, url externa"
    ),
    "sysprompt": "system prompt",
}
