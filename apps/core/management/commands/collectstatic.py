from django.contrib.staticfiles.management.commands import collectstatic
from django.core.management.base import CommandParser


class Command(collectstatic.Command):
    """Django's command, without its question whether to overwrite: names contain a hash."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(interactive=False)
