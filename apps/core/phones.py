"""Phone numbers as they are stored: E.164."""

import re

# The country prefixes of E.164. All of three digits count as assigned.
_PREFIX = re.compile(
    r"\+(?:[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|[2-9][0-9]{2})"
)
_SPAIN = "+34"
_SHORTEST_PHONE = 9
_LONGEST_PHONE = 15
_NO_PHONE = "Por favor, introduce un teléfono válido"


def in_e164(value: str) -> str:
    """A country prefix and the number, at most 15 digits in all, from what somebody has typed.

    A Spanish number has at least 9 digits after the prefix; with another prefix, at least 9 with
    it: numbers of Andorra and Costa Rica are shorter. A number without a prefix is Spanish. Raises
    ValueError with a Spanish sentence.
    """
    compact = re.sub(r"[\s().-]", "", value)
    if compact.startswith("00"):
        compact = f"+{compact[2:]}"
    if re.fullmatch(r"[0-9]{9}", compact):
        compact = f"{_SPAIN}{compact}"
    if problem := _problem(compact):
        raise ValueError(problem)
    return compact


def _problem(compact: str) -> str | None:
    if not re.fullmatch(r"\+?[0-9]+", compact):
        return _NO_PHONE
    digits = compact.lstrip("+")
    if len(digits) > _LONGEST_PHONE:
        return f"El teléfono, con su prefijo, puede tener como mucho {_LONGEST_PHONE} dígitos"
    prefix = _PREFIX.match(compact)
    counted = digits[2:] if prefix and prefix[0] == _SPAIN else digits
    if len(counted) < _SHORTEST_PHONE:
        return f"El teléfono debe tener al menos {_SHORTEST_PHONE} dígitos"
    if not compact.startswith("+"):
        return "Escribe el teléfono con el prefijo de tu país, como +34 600 123 123"
    return None if prefix else "Ese prefijo no existe. El de España es +34."
