"""Common given names and surnames of seven languages, without accents, as folded text has them. Pure.

Written by hand. A name that is also a word (`AMBIGUOUS`) only counts beside one that is not.
"""

from __future__ import annotations

_GIVEN = {
    "en": "James John Robert Michael William David Richard Joseph Thomas Charles Christopher Daniel Matthew Anthony Steven "
    "Andrew Joshua Kenneth Kevin Brian George Edward Ronald Timothy Jason Jeffrey Ryan Jacob Gary Nicholas Eric Jonathan "
    "Stephen Larry Justin Scott Brandon Benjamin Samuel Gregory Alexander Patrick Jack Dennis Jerry Tyler Aaron Adam Nathan "
    "Henry Zachary Douglas Peter Kyle Noah Ethan Oliver Harry Liam Mason Logan Lucas Owen Dylan Callum Nigel Graham Mary "
    "Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Sarah Karen Lisa Nancy Betty Sandra Margaret Ashley Kimberly "
    "Emily Donna Michelle Carol Amanda Melissa Deborah Stephanie Rebecca Laura Helen Sharon Cynthia Kathleen Amy Angela "
    "Shirley Anna Brenda Pamela Emma Nicole Samantha Katherine Christine Rachel Olivia Sophie Charlotte Amelia Isla Megan "
    "Hannah Abigail Madison Chloe Ella Fiona Heather Gillian",
    "de": "Hans Klaus Wolfgang Jurgen Gunter Stefan Andreas Matthias Markus Thorsten Torsten Uwe Bernd Dieter Heinz Helmut "
    "Horst Manfred Rainer Ralf Holger Joachim Frank Sven Lars Jens Jan Tobias Florian Sebastian Felix Maximilian Lukas "
    "Leon Finn Jonas Niklas Moritz Johannes Georg Karl Otto Friedrich Ulrich Werner Gerhard Ursula Monika Petra Sabine "
    "Renate Helga Karin Brigitte Ingrid Erika Gisela Susanne Andrea Birgit Heike Claudia Katrin Anja Silke Kerstin Nicole "
    "Stefanie Julia Katharina Lena Lea Hanna Johanna Greta Frieda Anneliese Hildegard Elke Ute Gabriele Martina Jutta",
    "fr": "Jean Pierre Michel Andre Philippe Alain Bernard Jacques Christophe Laurent Nicolas Francois Frederic Thierry "
    "Olivier Stephane Pascal Bruno Julien Sebastien Guillaume Antoine Hugo Louis Gabriel Raphael Arthur Mathieu Maxime "
    "Yves Gilles Luc Marcel Rene Etienne Benoit Marie Nathalie Isabelle Sylvie Catherine Francoise Valerie Veronique "
    "Sandrine Celine Aurelie Camille Manon Lea Chloe Emilie Elodie Mathilde Juliette Monique Jacqueline Brigitte Odile "
    "Genevieve Colette Amelie Clementine Margaux Ines Jeanne Helene Josephine",
    "es": "Jose Antonio Manuel Francisco Juan Javier Jesus Carlos Miguel Alejandro Rafael Pedro Angel Fernando Luis Sergio "
    "Jorge Alberto Alvaro Diego Adrian Raul Ivan Ruben Enrique Ramon Vicente Andres Joaquin Santiago Pablo Mateo Gonzalo "
    "Ignacio Maria Carmen Ana Isabel Dolores Pilar Josefa Rosario Teresa Lucia Paula Cristina Marta Elena Mercedes Rocio "
    "Beatriz Silvia Raquel Sofia Valentina Camila Guadalupe Esperanza Consuelo Yolanda Inmaculada Nuria Montserrat",
    "it": "Giuseppe Giovanni Antonio Mario Luigi Francesco Angelo Vincenzo Pietro Salvatore Carlo Franco Domenico Bruno "
    "Paolo Michele Giorgio Aldo Sergio Luciano Andrea Marco Alessandro Matteo Lorenzo Davide Riccardo Simone Federico Luca "
    "Stefano Roberto Massimo Fabio Enrico Gianni Maria Anna Giuseppina Rosa Angela Giovanna Teresa Lucia Carmela Caterina "
    "Francesca Giulia Chiara Sara Martina Federica Silvia Elisa Alessia Valentina Paola Laura Simona Daniela Ilaria Ludovica",
    "pt": "Joao Antonio Francisco Carlos Paulo Pedro Lucas Luiz Marcos Luis Gabriel Rafael Daniel Marcelo Bruno Eduardo "
    "Felipe Raimundo Rodrigo Manoel Mateus Andre Fernando Fabio Leonardo Gustavo Guilherme Leandro Tiago Thiago Ricardo "
    "Vitor Nuno Rui Goncalo Duarte Ana Francisca Antonia Adriana Juliana Marcia Fernanda Patricia Aline Sandra Camila "
    "Amanda Bruna Jessica Leticia Julia Luciana Vanessa Mariana Gabriela Vera Vitoria Larissa Claudia Beatriz Ines Joana",
    "nl": "Johannes Willem Hendrik Cornelis Pieter Jacobus Gerrit Dirk Jeroen Bas Sander Maarten Joost Rik Daan Sem Bram "
    "Thijs Ruben Wouter Koen Niels Kees Henk Piet Joris Anneke Johanna Wilhelmina Hendrika Saskia Marieke Femke Sanne "
    "Fleur Lotte Anouk Marloes Esmee Roos Maaike Inge Margriet Trijntje Liesbeth",
    "more": "Mohammed Muhammad Ahmed Ali Omar Fatima Aisha Hassan Ibrahim Yusuf Mustafa Mehmet Ayse Wei Ming Yuki Hiroshi "
    "Kenji Sakura Raj Priya Amit Anil Sunita Deepak Anjali Ivan Olga Dmitri Natalia Sergei Tatiana Piotr Krzysztof "
    "Agnieszka Katarzyna Lars Ingrid Bjorn Astrid Erik Nikolaos Eleni Minh Nguyen Siobhan Aoife Niamh Padraig",
}

_SURNAMES = {
    "en": "Smith Johnson Williams Jones Davis Miller Wilson Moore Taylor Anderson Jackson Harris Thompson Robinson Clark "
    "Lewis Walker Hall Allen Wright Scott Torres Nguyen Adams Nelson Baker Campbell Mitchell Carter Roberts Turner Phillips "
    "Parker Evans Edwards Collins Stewart Morris Murphy Cook Rogers Morgan Peterson Cooper Reed Bailey Bell Kelly Howard "
    "Cox Richardson Watson Brooks Bennett Gray Hughes Price Myers Foster Sanders Ross Powell Sullivan Russell Patterson "
    "Jenkins Perry Butler Barnes Fisher Henderson Coleman Simmons Graham Reynolds Hamilton Griffin Wallace OBrien O'Brien "
    "Brown White Davies Green Hill Wood King",
    "de": "Muller Mueller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schafer Koch Bauer Richter "
    "Klein Wolf Schroder Neumann Schwarz Zimmermann Braun Kruger Hofmann Hartmann Lange Schmitt Werner Krause Lehmann Maier "
    "Kohler Herrmann Walter Huber Kaiser Fuchs Peters Scholz Moller Weiss Jung Hahn Schubert Vogel Friedrich Keller Winkler "
    "Berger Lorenz Baumann Albrecht Schuster Simon Ludwig Bohm Kraus",
    "fr": "Martin Bernard Dubois Thomas Robert Petit Durand Leroy Moreau Laurent Lefebvre Michel Garcia David Bertrand Roux "
    "Vincent Fournier Morel Girard Lefevre Mercier Dupont Lambert Bonnet Martinez Legrand Garnier Faure Rousseau Blanc "
    "Guerin Muller Henry Roussel Perrin Morin Mathieu Clement Gauthier Dumont Fontaine Chevalier Robin Masson",
    "es": "Garcia Gonzalez Rodriguez Fernandez Lopez Martinez Sanchez Perez Gomez Martin Jimenez Ruiz Hernandez Diaz Moreno "
    "Munoz Alvarez Romero Alonso Gutierrez Navarro Dominguez Vazquez Ramos Gil Ramirez Serrano Blanco Molina Morales Suarez "
    "Ortega Delgado Castro Ortiz Rubio Marin Sanz Iglesias Medina Garrido Cortes Castillo Flores Vargas Mendoza Reyes",
    "it": "Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno Gallo Conti Costa Giordano Mancini "
    "Rizzo Lombardi Moretti Barbieri Fontana Santoro Mariani Rinaldi Caruso Ferrara Galli Martini Leone Longo Gentile "
    "Martinelli Vitale Lombardo Serra Coppola Marchetti Parisi Villa Conte Ferraro Ferri Bianco Marini Grasso Valentini",
    "pt": "Silva Santos Oliveira Souza Sousa Rodrigues Ferreira Alves Pereira Lima Gomes Costa Ribeiro Martins Carvalho "
    "Almeida Lopes Soares Fernandes Vieira Barbosa Rocha Dias Nascimento Andrade Moreira Nunes Marques Machado Mendes "
    "Freitas Cardoso Ramos Goncalves Santana Teixeira Pinto Correia",
    "nl": "Jansen Bakker Visser Smit Meijer Mulder Bos Vos Peters Hendriks Dekker Brouwer Dijkstra Smits Dijk Vermeer "
    "Hoekstra Koster Prins Huisman Postma Kuipers Veenstra Kramer Kuiper Willems Janssen Maas Verhoeven Hermans Vries Berg",
}

AMBIGUOUS = frozenset(
    "Will Mark May June April August Rose Grace Hope Faith Joy Summer Dawn Bill Rob Art Frank Jack Ray Bob Max Chase Hunter "
    "Mason Logan Tyler Scott Jordan Madison Charlotte Sydney Paris Florence Victoria Jan Sara Ella Isla Ali Rosa Pilar Vera "
    "Vitoria Santiago Franco Wei Ming Sem Roos Esperanza Consuelo Dolores Rosario Mercedes Angel Jesus Carmen Camille Luc "
    "Georgia Jean Rene Ute Uwe Leon Lea Manon Roma Douglas Craig Dean Marina Diego Lima Marcia Rui Duarte Nuno Bas Rik".split()
)

STOP = frozenset(
    "The A An And Or But If When Where What Who Why How This That These Those It He She We You They I In On At By For From To "
    "Of With As Is Was Are Were Be Been Has Have Had Do Does Did Will Would Can Could Should May Might Must Not No Yes Please "
    "Thanks Thank Hello Hi Dear Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April June "
    "July August September October November December Street Avenue Road University College School Hospital Company Inc Ltd "
    "Corp GmbH Bank Court Park River Lake City County State Der Die Das Und Oder Ein Eine Le La Les Un Une Et Ou El Los Las "
    "Y Il Lo Gli E O Os As De Het Een En Phone Email Tel Mobile Fax Address Account Number Identifier Customer Patient Employee Manager "
    "Director Engineer Order Invoice Ticket Team Group Department Office Support Sales Server Service Project Class Function "
    "Error Warning Info Debug Version Note Total Sample Test Airport Station Center Centre Museum Church Cathedral Prize Award "
    "None True False Null Institute Foundation Act Law Theorem Algorithm Equation Test Effect Method Model Principle".split()
)

PARTICLES = frozenset("de da do dos das del della di van von der den du la le el y e zu ten ter bin ibn al st".split())


def _words(lists: dict[str, str]) -> frozenset[str]:
    return frozenset(word for text in lists.values() for word in text.split())


GIVEN = _words(_GIVEN)
SURNAMES = _words(_SURNAMES)
BY_LANGUAGE = {
    language: (names.split(), _SURNAMES.get(language, _SURNAMES["en"]).split()) for language, names in _GIVEN.items()
}
"""For a made-up name of the same language."""
