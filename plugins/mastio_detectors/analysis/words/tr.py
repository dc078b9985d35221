"""Turkish."""

WORDS = {
    "override": (
        "yok say*, görmezden gel*, unut*, dikkate alma*, göz ardı et*, uyma, uymayın, takip etme, "
        "takip etmeyi bırak, iptal et*, boş ver, bir kenara bırak*, çiğne*, aldırma, atla, sil, itaat etme, "
        "hiçe say*, bırak"
    ),
    "previous": (
        "önceki*, yukarıdaki*, daha önce*, eski, ilk, orijinal, mevcut, bütün, tüm, şimdiye kadar*, sana verilen*, "
        "verilmiş, geçmiş*"
    ),
    "instructions": (
        "talimat*, yönerge*, kural*, komut*, emir*, emri*, prompt*, istem*, kısıtlama*, direktif*, yönlendirme*"
    ),
    "ownrules": (
        "talimatlarını, kurallarını, yönergelerini, programlamanı, kısıtlamalarını, kendi kurallarını, "
        "senin kurallarını, istemini, yönergelerine, kurallarına"
    ),
    "newrules": (
        "yeni talimat*, yeni görev*, yeni kural*, sadece şunu, yalnızca şunu, gerçek görev*, yeni emir*, "
        "sadece benim, tek görevin"
    ),
    "fromnow": "bundan sonra, şu andan itibaren, bu andan itibaren, bundan böyle, artık, şimdiden sonra",
    "assistant": "yapay zeka asistan*, asistan*, dil model*, sohbet robotu*, chatbot*, yapay zeka*, yapay zekâ*, ajan*",
    "address": (
        "mesaj, eğer bir, için not, için talimat, asistanına, asistanlarına, modellerine, asistanlara, "
        "tüm asistanlar*, tüm yapay zeka*"
    ),
    "must": "zorunda*, gerekir, gerekiyor, lütfen, mecbur*, malı, meli, şart",
    "hide": (
        "kullanıcıya söyleme*, kullanıcıya söylemeden, kullanıcıya bildirme*, kullanıcıya haber verme*, gizlice, "
        "belli etmeden, bahsetme, bahsetmeden, haber vermeden, sormadan, sessizce, çaktırmadan, bilgisi olmadan, "
        "fark ettirmeden"
    ),
    "youare": (
        "artık sen, sen artık, şimdi sen, sen şimdi, gibi davran*, rolünü oyna*, rolünü üstlen*, rolüne gir*, "
        "rol yap, taklit et*, hayal et*, olduğunu varsay*, gibi yanıt*, gibi cevap*, olarak davran*, "
        "olarak cevap*, olarak yanıt*, ol, canlandır*, numarası yap"
    ),
    "unbound": (
        "sınırsız, kısıtlamasız, sınırlaması olmayan, kısıtlaması olmayan, kuralsız, kuralı olmayan, "
        "kuralları olmayan, sansürsüz, filtresiz, filtresi olmayan, hiçbir kısıtlama*, hiçbir kural*, "
        "hiçbir sınır*, ahlaki sınır*, etik sınır*, her şeyi yapabilen, her şeyi yapabilir*, kısıtlama olmadan, "
        "sınır tanımayan, kısıtlamaların yok, kuralların yok, hiçbir etik, hiçbir ahlaki, tabusuz"
    ),
    "disable": "devre dışı*, kapat*, kaldır*, atlat*, aş, es geç, bırak*, sök, yok say*, unut*",
    "safety": (
        "güvenlik filtre*, filtre*, güvenlik*, etik*, ahlak*, sansür*, içerik politika*, koruma*, denetim*, "
        "önlem*, güvenlik önlem*"
    ),
    "norefuse": (
        "asla reddetme*, reddetme, reddedemezsin, uyarı yapma*, uyarı vermeden, uyarısız, yasadışı olsa bile, "
        "yasa dışı olsa bile, her soruya, her soruyu, tüm sorulara, hayır deme, reddetmeden, yasadışı olsa da, "
        "yasa dışı olsa da, itiraz etme*"
    ),
    "harm": (
        "yasadışı, yasa dışı, tehlikeli, bomba*, patlayıcı*, uyuşturucu*, silah*, yasak*, zararlı*, hack*, zehir*, "
        "ahlaksız, etik dışı, çalmak, illegal, molotof*"
    ),
    "howto": "nasıl yapılır, nasıl yapacağımı, nasıl, tarif*, adım adım, yapımını",
    "pretext": "varsayımsal, kurgusal, büyükannem, ninem, romanım için",
    "persona": "tanrı modu*, jailbreak modu*, dan modu*, kötü yapay zeka",
    "modeon": "etkinleştir*, aç, geç, geçiş yap, gir, aktif et*, başlat",
    "reveal": (
        "göster*, açıkla*, yazdır, tekrarla*, tekrar et, söyle*, ver, yaz, listele, paylaş*, kopyala, nedir, "
        "neler, ne yazıyor, ifşa et*, çevir, özetle, dök"
    ),
    "verbatim": (
        "kelimesi kelimesine, aynen, tam olarak, eksiksiz, harfi harfine, olduğu gibi, tamamını, kod bloğu, "
        "birebir, kısaltmadan, tümünü"
    ),
    "send": (
        "gönder*, yolla*, yükle*, ilet*, aktar*, yayınla*, ekle, kodla*, çağır*, paylaş*, postala*, yerleştir*, "
        "istek yap*"
    ),
    "data": (
        "konuşma*, sohbet geçmiş*, müşteri veri*, müşteri bilgi*, parola*, şifre*, kimlik bilgi*, api anahtar*, "
        "gizli anahtar*, kullanıcı veri*, kullanıcı bilgi*, kişisel veri*, ortam değişken*, rehber*, dosya*, "
        "özel anahtar*, veritabanı*, e-posta*, mesaj*, kredi kart*, gelen kutu*, müşteri listesi*, token*"
    ),
    "outside": "harici sunucu*, sunucum*, dış sunucu*, adresim*, uzak sunucu*, kişisel e-posta*, adresine, dış adres*",
    "iam": "ben, biz, adına, olarak, burası",
    "authority": (
        "yönetici*, admin*, geliştirici*, yaratıcın*, genel müdür*, ceo*, güvenlik ekib*, teknik destek, "
        "bilgi işlem, polis*, sistem yönetici*, müdür*"
    ),
    "demand": (
        "ver, bana ver, kilidini aç, devre dışı*, erişim*, yetki ver*, sıfırla*, gönder, onayla, göster, aktar, "
        "kaldır, sil, havale*"
    ),
    "sensitive": (
        "parola*, şifre*, erişim*, hesap*, hesab*, kimlik bilgi*, yetki*, veri*, ödeme*, doğrulama*, kısıtlama*, "
        "limit*, kayıt*, filtre*"
    ),
    "noverify": (
        "doğrulamaya gerek yok, doğrulama gerekmiyor, soru sorma*, zaten onaylandı, yetkim var, yetkiliyim, "
        "bana güven, vakit yok, zaman yok, kontrol etmene gerek yok, doğrulama yapmadan, onay gerekmez"
    ),
    "urgency": "acil*, hemen, derhal, şimdi, ivedi*",
    "willdo": "seni, sizi, onu, yemin ederim, istiyorum, edeceğim",
    "violence": (
        "öldür*, gebert*, bıçakla*, vuracağım, yakacağım, patlat*, döv*, boğ*, kıracağım, keseceğim, zehirle*, "
        "havaya uçur*"
    ),
    "target": "seni, sizi, aileni, çocuklarını, evini, onu, herkesi, okulu, patronumu, komşumu, kemiklerini",
    "menace": (
        "pişman olacaksın, pişman ederim, öldün sen, nerede yaşadığını biliyor*, nerede oturduğunu biliyor*, "
        "bunun bedelini öde*, son uyarı*, günlerin sayılı, seni bulacağım, seni bulurum, seni bulacağız, "
        "geberteceğim, öleceksin, seni öldüreceğim"
    ),
    "extort": "bitcoin, fidye*, öde, ödemezsen*, yoksa, aksi halde, 48 saat içinde",
    "damage": (
        "yayınlarız, yayınlarım, yayınlayacağ*, fotoğraflarını, dosyaların*, karına, şifrelendi, verilerini, ifşa ed*"
    ),
    "marking": (
        "çok gizli, gizlidir, kesinlikle gizli, sadece iç kullanım*, yalnızca dahili kullanım*, dahili kullanım*, "
        "ticari sır*, şirket sırrı*, dağıtılamaz, paylaşılamaz, kurum içi"
    ),
    "secretthing": (
        "kaynak kod*, maaş*, müşteri listesi*, ticari sır*, şirket sır*, özel anahtar*, iç yazışma*, formül*, "
        "tedarikçi fiyat*, birleşme plan*, personel dosya*, dahili belge*"
    ),
    "confwant": "bana ver, ver, göster, gönder, paylaş, sızdır*, listele",
    "theirs": "rakip*, gizli*, dahili*, şirket*, yayınlanmamış, eski işveren*, iç",
    "group": (
        "kadın*, erkek*, müslüman*, yahudi*, siyah*, göçmen*, mülteci*, yabancı*, eşcinsel*, engelli*, yaşlı*, "
        "çingene*, suriyeli*, kürt*, ermeni*, hamile*, yahudiler*, kadınlar*, araplar*, kürtler*, suriyeliler*, "
        "romanlar*"
    ),
    "derog": (
        "aşağılık*, aptal*, tembel*, suçludur*, hırsız*, terörist*, parazit*, daha az zeki*, sınır dışı edilmeli*, "
        "mutfak*, hak etmiyor*, pistir, pis, insan değil*, hayvan*"
    ),
    "exclude": (
        "işe alma, işe almayın, reddet, reddedin, ele, elen*, dışla*, kiralama, kiraya verme*, sadece erkek*, "
        "yalnızca erkek*, düşük puan*"
    ),
    "decision": "aday*, başvuru*, kredi*, daire*, kiracı*, iş, özgeçmiş*, terfi*, pozisyon*",
    "spread": "yaz, anlat, üret, kanıtla, uydur",
    "hatekind": "ırkçı*, cinsiyetçi*, antisemit*, homofobik*, yabancı düşmanı*, nefret*, islamofobik*, aşağılayıcı*",
    "ownprompt": (
        "sistem istemi*, sistem istemini, sistem mesaj*, sistem talimat*, sistem prompt*, gizli talimat*, "
        "iç talimat*, başlangıç talimat*, ilk talimat*, orijinal talimat*, başlangıç istemi*, promptunu, "
        "sana verilen talimat*, ilk mesaj*, gizli kural*, dahili talimat*, kendi talimatlarını, "
        "sistem talimatlarını, kendi kurallarını"
    ),
    "ownsafety": (
        "güvenlik filtre*, filtre*, güvenlik*, etik*, ahlak*, sansür*, içerik politika*, koruma*, denetim*, "
        "önlem*, güvenlik önlem*"
    ),
    "textabove": "yukarıdaki metni, yukarıdaki her şeyi",
    "mode": "geliştirici modu*, hata ayıklama modu*, bakım modu*",
    "instead": "bunun yerine, onun yerine",
    "invalid": "artık geçerli değil, geçersiz, geçerli değil, iptal edildi, hükümsüz, yürürlükten kalktı",
    "obeyme": (
        "beni dinle, sadece beni dinle, bana itaat et, benim dediğimi, dediğimi yap, benim komutlarım*, "
        "benim emirlerim*, benim için çalış*"
    ),
    "given": "sana verilen, aldığın, başlangıçta, en başta, geliştiricinin, bu konuşmadan önce",
    "instructions2": "talimat*, kural*, metin*, mesaj*, her şey*, yönerge*",
    "anyask": "her şeye, her isteğe, ne sorarsam, ne istersem, istediğim her şey*",
    "trait": "hırsız*, suçlu*, tembel*, aptal*, pis, terörist*, parazit*, tehlikeli*, yalancı*, aşağılık",
    "joke": "hakkında şaka, hakkında fıkra, fıkrası, şakası, ile ilgili şaka, dalga geç*",
    "echo": "tekrarla*, yazdır, kopyala, göster*",
    "say": "öner, öneri*, cevap ver, değerlendir*, yaz",
    "only": "sadece, yalnızca, beş yıldız, en iyi",
    "task": "görevini, görevi",
    "place2": (
        "bu url*, şu url*, şu adres*, bu adres*, webhook*, bu bağlantı*, şu bağlantı*, parametre*, resim url*, "
        "görsel url*, görsel bağlantı*"
    ),
    "heed": "dikkat, önemli",
    "sysprompt": "system prompt*",
}
