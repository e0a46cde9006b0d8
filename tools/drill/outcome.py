"""What a drill did and found."""

from dataclasses import dataclass, field


@dataclass
class Outcome:
    """`tried` and `happened` are Spanish phrases; each entry of `lost` is one loss."""

    tried: str
    happened: str
    lost: list[str] = field(default_factory=list)
