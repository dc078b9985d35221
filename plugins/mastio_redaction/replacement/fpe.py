"""FF3-1: digits become digits and letters letters, under a key. Pure.

NIST SP 800-38G Revision 1 (draft of 2019), algorithms 9 and 10. For systems behind the model that insist on a form.
NIST has since proposed to withdraw FF3-1, since it is weaker than its block length says (Beyne, 2021); where the form
does not matter, `encrypt` is the better strategy.
"""

from __future__ import annotations

import string
from math import ceil, log2

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

DIGITS = string.digits
LOWER = string.digits + string.ascii_lowercase
UPPER = string.digits + string.ascii_uppercase
MIXED = string.digits + string.ascii_uppercase + string.ascii_lowercase

LEAST_DOMAIN = 1_000_000
"""As many values as there have to be: below, trying them all is no work (section 5.2)."""


class FormError(ValueError):
    """Nothing that this can encrypt: too short, too long, or with characters that the alphabet does not have."""


class FF31:
    """FF3-1 with one key, tweak (56 bit) and alphabet."""

    def __init__(self, key: bytes, tweak: bytes, alphabet: str = DIGITS) -> None:
        if len(tweak) != 7:
            raise ValueError("A tweak has 7 bytes.")
        left = bytes((*tweak[:3], tweak[3] & 0xF0))
        right = bytes((*tweak[4:], (tweak[3] & 0x0F) << 4))
        self._tweaks = (right, left)
        self._aes = Cipher(algorithms.AES(key[::-1]), modes.ECB())  # noqa: S305 (one block, as the algorithm says)
        self._alphabet = alphabet
        self._value = {character: value for value, character in enumerate(alphabet)}
        self._radix = len(alphabet)
        self.least = next(n for n in range(2, 21) if self._radix**n >= LEAST_DOMAIN)
        self.most = 2 * int(96 / log2(self._radix))

    def encrypt(self, text: str) -> str:
        """Raises `FormError`."""
        return self._rounds(text, range(8), 1)

    def decrypt(self, text: str) -> str:
        """Raises `FormError`."""
        return self._rounds(text, range(7, -1, -1), -1)

    def _rounds(self, text: str, rounds: range, sign: int) -> str:
        length = len(text)
        if not self.least <= length <= self.most:
            raise FormError(f"The value has to have {self.least} to {self.most} characters that can be exchanged.")
        try:
            values = [self._value[character] for character in text]
        except KeyError as error:
            raise FormError("The value has a character that is not in the alphabet.") from error
        half = ceil(length / 2)
        sizes = (half, length - half)
        # Both halves as numbers whose first numeral counts least: NUM(REV(X)).
        one, other = self._number(values[:half]), self._number(values[half:])
        encryptor = self._aes.encryptor()
        for number in rounds:
            if sign < 0:
                one, other = other, one
            tweak = self._tweaks[number % 2]
            block = bytes((*tweak[:3], tweak[3] ^ number)) + other.to_bytes(12, "big")
            mixed = int.from_bytes(encryptor.update(block[::-1])[::-1], "big")
            one = (one + sign * mixed) % self._radix ** sizes[number % 2]
            if sign > 0:
                one, other = other, one
        return self._text(one, sizes[0]) + self._text(other, sizes[1])

    def _number(self, values: list[int]) -> int:
        number = 0
        for value in reversed(values):
            number = number * self._radix + value
        return number

    def _text(self, number: int, size: int) -> str:
        characters = []
        for _ in range(size):
            number, value = divmod(number, self._radix)
            characters.append(self._alphabet[value])
        return "".join(characters)


def alphabet_of(characters: str) -> str:
    """The least alphabet that has all of `characters`."""
    for alphabet in (DIGITS, UPPER, LOWER):
        if all(character in alphabet for character in characters):
            return alphabet
    return MIXED
