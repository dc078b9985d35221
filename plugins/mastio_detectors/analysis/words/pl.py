"""Polish."""

WORDS = {
    "override": (
        "zignoruj*, ignoruj*, zapomnij*, pomiń, pomijaj, nie przestrzegaj, nie stosuj, nie zważaj, odrzuć, "
        "nadpisz, przestań, obejdź, unieważnij, porzuć, olej, nie słuchaj, usuń, nie zwracaj uwagi, wymaż, skasuj"
    ),
    "previous": (
        "poprzedni*, wcześniejsz*, powyższ*, dotychczasow*, pierwotn*, wszystkie, wszystkich, wszystko, "
        "początkow*, otrzyman*, wcześniej, uprzedni*"
    ),
    "instructions": (
        "instrukcj*, polece*, zasad*, wytyczn*, reguł*, rozkaz*, prompt*, nakaz*, dyrektyw*, ogranicze*, wskazów*"
    ),
    "ownrules": (
        "swoje instrukcje, twoje instrukcje, swoich instrukcji, swoje zasady, swoich zasadach, "
        "swoich instrukcjach, o swoich zasadach, swoje wytyczne, swoich wytycznych, swoje programowanie, "
        "swoje ograniczenia, swoich ograniczeniach"
    ),
    "newrules": (
        "nowe instrukcje, nowe zadanie, nowe zasady, nowe polecenie, wykonuj tylko, prawdziwe zadanie, twoje nowe, "
        "słuchaj tylko, nowe polecenia, jedyne zadanie"
    ),
    "fromnow": "od teraz, od tej pory, od tego momentu, odtąd, od tej chwili",
    "assistant": (
        "asystent*, model językow*, modele językow*, modelu językow*, chatbot*, agent ai, agenci ai, model ai, "
        "sztuczna inteligencj*, sztucznej inteligencj*, każde ai"
    ),
    "address": (
        "uwaga dla, wiadomość dla, uwaga, ważne, instrukcja dla, instrukcje dla, jeśli jesteś, do wszystkich, "
        "notatka dla"
    ),
    "must": "musisz, musi, muszą, powin*, należy, proszę, obowiązkow*",
    "hide": (
        "bez wiedzy, nie mów użytkownikowi, nie informuj, nie wspominaj, potajemnie, w tajemnicy, po cichu, "
        "bez informowania, bez pytania, nie mów o tym, dyskretnie, w sekrecie, nie mówiąc, nie wspominając, "
        "nie zdradzaj tego"
    ),
    "youare": (
        "jesteś teraz, teraz jesteś, udawaj, zachowuj się jak, wciel się, zagraj rolę, odgrywaj, wyobraź sobie, "
        "działaj jak, symuluj, przyjmij rolę, odpowiadaj jak, stań się, będziesz teraz, od teraz jesteś, graj rolę"
    ),
    "unbound": (
        "bez ogranicze*, żadnych ogranicze*, bez zasad, żadnych zasad, bez reguł, bez cenzury, bez filtr*, "
        "żadnych filtrów, bez limit*, bez granic, nieocenzurowan*, niefiltrowan*, bez etyki, bez moralności, "
        "możesz wszystko, zrobić wszystko, wolny od, wszystko wolno, bez skrupułów, nieograniczon*, żadnych reguł, "
        "bez żadnych"
    ),
    "disable": "wyłącz*, dezaktywuj, obejdź, usuń, zdejmij, omiń, zawieś, zignoruj, ignoruj, odłącz, zapomnij, porzuć",
    "safety": (
        "filtr* bezpieczeństwa, filtry, filtrów, bezpieczeństw*, etyk*, etyczn*, moraln*, cenzur*, zabezpiecze*, "
        "polityk* treści, moderacj*"
    ),
    "norefuse": (
        "nigdy nie odmawiaj, nie odmawiaj, nie możesz odmówić, bez ostrzeżeń, nawet jeśli to nielegalne, "
        "nawet jeśli jest nielegalne, nawet jeśli są nielegalne, na każde pytanie, każde pytanie, bez wyjątku, "
        "nigdy nie mów nie, bez odmawiania, nie wolno ci odmówić, wszystkie pytania"
    ),
    "harm": (
        "nielegaln*, niebezpieczn*, bomb*, wybuchow*, narkotyk*, broń, broni, zakazan*, szkodliw*, zhakować, "
        "trucizn*, niemoraln*, nieetyczn*, ukraść, metamfetamin*, koktajl mołotowa"
    ),
    "howto": "jak zrobić, jak zbudować, jak wyprodukować, jak, przepis, krok po kroku",
    "pretext": "hipotetyczn*, fikcyjn*, moja babcia, na potrzeby powieści, czysto teoretyczn*",
    "persona": "tryb boga, tryb jailbreak, tryb dan, zła sztuczna inteligencja",
    "modeon": "włącz*, aktywuj*, przejdź w, przejdź do, jesteś teraz, przełącz, uruchom",
    "reveal": (
        "ujawnij, pokaż, wyświetl, wypisz, powtórz, podaj, zdradź, napisz, powiedz mi, wymień, skopiuj, "
        "udostępnij, jakie są, jaki jest, zacytuj, przetłumacz, streść, wydrukuj, przepisz, co jest w"
    ),
    "verbatim": (
        "słowo w słowo, dosłownie, dokładnie, w całości, co do słowa, bez zmian, pełn*, kompletn*, blok kodu, "
        "bez pominięć"
    ),
    "send": (
        "wyślij*, prześlij*, opublikuj, załącz, dołącz, zakoduj, przekaż, wrzuć, wstaw, umieść, wklej, wywołaj, dodaj"
    ),
    "data": (
        "rozmow*, historię czatu, historia czatu, histori*, dane klientów, danych klientów, hasł*, haseł, "
        "poświadcze*, klucz* api, sekret*, dane użytkownik*, dane osobowe, zmienne środowiskowe, kontakt*, plik*, "
        "klucz prywatny, klucze prywatne, baz* danych, wiadomości, skrzynk*, kart* kredytow*, listę klientów, "
        "dane bankowe"
    ),
    "outside": (
        "zewnętrzny serwer, mój serwer, zewnętrzn*, mój adres, adresie obrazka, prywatny mail, prywatną skrzynkę, "
        "poza firmę"
    ),
    "iam": "jestem, tu, jako, w imieniu, jesteśmy, z tej strony, mówi, pracuję",
    "authority": (
        "administrator*, admin, programist*, deweloper*, twój twórca, twoim twórcą, dyrektor*, prezes*, "
        "zespół bezpieczeństwa, dział it, działu it, policj*, wsparci* techniczn*, szef* bezpieczeństwa"
    ),
    "demand": (
        "daj mi, przyznaj*, odblokuj*, wyłącz*, dostęp*, autoryzuj, zresetuj*, wyślij mi, pokaż mi, zatwierdź, "
        "przelej, usuń, podaj, zdejmij"
    ),
    "sensitive": (
        "hasł*, dostęp*, kont*, poświadcze*, uprawnie*, dane, danych, płatnoś*, weryfikacj*, ogranicze*, "
        "baz* danych, limit*, przelew*, filtr*"
    ),
    "noverify": (
        "bez weryfikacji, nie musisz sprawdzać, nie trzeba weryfikować, nie zadawaj pytań, już zatwierdzon*, "
        "mam uprawnienia, jestem upoważnion*, zaufaj mi, nie ma czasu, bez zgłoszenia, bez sprawdzania"
    ),
    "urgency": "pilne, pilnie, natychmiast, od razu, nagły wypadek, bezzwłocznie",
    "willdo": "zamierzam, mam zamiar, zaraz, chcę, przysięgam, będę",
    "violence": (
        "zabiję, zabić, zamordować, zamorduję, zastrzel*, dźgnąć, pobić, pobiję, podpal*, wysadz*, udus*, połamię, "
        "spalę, otruj*, zniszczę cię"
    ),
    "target": "cię, ciebie, twoją rodzinę, twoje dzieci, twój dom, wszystkich, szkołę, szefa, sąsiada",
    "menace": (
        "pożałujesz, jesteś martwy, jesteś trupem, wiem gdzie mieszkasz, wiemy gdzie mieszkasz, zapłacisz za to, "
        "ostatnie ostrzeżenie, twoje dni są policzone, znajdę cię, znajdziemy cię, zabiję cię, nie dożyjesz, "
        "już nie żyjesz"
    ),
    "extort": "bitcoin*, okup*, zapłać, bo inaczej, jeśli nie zapłacisz, w ciągu 48 godzin",
    "damage": "opublikuj*, opublikujemy, twoje zdjęcia, twoje pliki, twojej żonie, twoje dane, zaszyfrowan*, ujawnimy",
    "marking": (
        "ściśle poufne, poufne nie, tylko do użytku wewnętrznego, wyłącznie do użytku wewnętrznego, "
        "do użytku wewnętrznego, tajemnica przedsiębiorstwa, tajemnica handlowa, nie rozpowszechniać, "
        "ściśle tajne, zastrzeżone nie"
    ),
    "secretthing": (
        "kod źródłowy, kodu źródłowego, pensj*, wynagrodze*, listę klientów, lista klientów, tajemnic* handlow*, "
        "tajemnic* firm*, klucze prywatne, wewnętrzne dokumenty, receptur*, akta osobowe, ceny dostawców, "
        "plan fuzji"
    ),
    "confwant": "daj mi, pokaż mi, wyślij mi, prześlij mi, udostępnij, podaj, ujawnij, wypisz",
    "theirs": "konkuren*, poufn*, wewnętrzn*, tajn*, firm*, nieopublikowan*, były pracodawca",
    "group": (
        "kobiety, kobiet, mężczyźni, muzułman*, żydzi, żydów, czarni, czarnych, imigran*, uchodźc*, cudzoziemc*, "
        "obcokrajowc*, geje, gejów, homoseksualist*, niepełnosprawn*, osoby starsze, cyganie, romowie, romów, "
        "arabowie, ukraińc*, ciężarn*, kobieta, żyd, ukraińcy, romach, żydach, arabach, murzyn*, muzułmanie, "
        "imigranci, uchodźcy, grubasy"
    ),
    "derog": (
        "są gorsi, są gorsze, są głupi*, są leniw*, to przestępcy, są przestępcami, to terroryści, to pasożyty, "
        "to złodzieje, są mniej inteligentn*, powinni zostać deportowani, do kuchni, nie zasługują, to podludzie, "
        "to zwierzęta, powinni wracać, są brudn*"
    ),
    "exclude": (
        "nie zatrudniaj, odrzuć, odrzucaj, wyklucz, odmów, odmawiaj, bez kobiet, tylko mężczyzn, nie wynajmuj, "
        "odfiltruj, obniż ocenę, nie zapraszaj, na koniec, unikaj, nie przyjmuj"
    ),
    "decision": "kandydat*, aplikacj*, pożyczk*, kredyt*, mieszkan*, najem*, stanowisk*, cv, awans*, prac*",
    "spread": "napisz, opowiedz, wygeneruj, udowodnij, wymyśl, uzasadnij",
    "hatekind": (
        "rasistowsk*, seksistowsk*, antysemick*, homofobiczn*, ksenofobiczn*, islamofobiczn*, nienawistn*, "
        "mizoginistyczn*"
    ),
    "ownprompt": (
        "prompt* systemow*, monit systemowy, komunikat systemowy, wiadomość systemow*, instrukcje systemowe, "
        "ukryte instrukcje, tajne instrukcje, wewnętrzne instrukcje, początkowe instrukcje, pierwotne instrukcje, "
        "swoje instrukcje, twoje instrukcje, swoje zasady, początkowy prompt, swój prompt, twój prompt, "
        "instrukcji systemowych, swoich instrukcji, ukrytych instrukcji, wewnętrzne zasady, promptu systemowego, "
        "prompt systemowy, ukryte zasady"
    ),
    "textabove": "tekst powyżej, wszystko powyżej",
    "mode": "tryb programisty, tryb deweloper*, trybie deweloperskim, tryb debugowania",
    "instead": "zamiast tego",
    "invalid": (
        "już nie obowiązują, nie obowiązują, są nieważne, nieważne, unieważnione, nie liczą się, anulowane, "
        "przestają obowiązywać"
    ),
    "obeyme": (
        "słuchaj tylko mnie, słuchaj mnie, rób co mówię, moje polecenia, tylko moje, pracujesz dla mnie, to co ja"
    ),
    "given": "które otrzymałeś, które dostałeś, na początku, twórcy, przed tą rozmową",
    "instructions2": "instrukcj*, zasad*, tekst*, wiadomoś*, wszystko, reguł*",
    "anyask": "na wszystko, o cokolwiek, każdą prośbę, na każde",
    "trait": (
        "przestępcy, złodzieje, leniwi, głupi, głupsze, gorsi, brudni, terroryści, pasożyty, robactwo, "
        "niebezpieczni, kłamcy, słabe"
    ),
    "joke": "żart o, żarty o, dowcip o, dowcipy o, kawał o, kawały o",
    "assault": (
        "zabiję/zastrzelę/pobiję/uduszę/spalę/zniszczę cię/go/ją/ich/was, połamię ci/mu nogi/kości, "
        "spalę/podpalę twój/wasz dom"
    ),
    "echo": "powtórz, wypisz, skopiuj",
    "say": "poleć, polecaj, odpowiedz, oceń, napisz",
    "only": "pięć gwiazdek, tylko, wyłącznie",
    "task": "zadani*",
    "place2": (
        "ten url, następujący url, ten adres, następujący adres, webhook, ten link, parametr*, url obrazka, adres url"
    ),
    "sysprompt": "system prompt",
}
