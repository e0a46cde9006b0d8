from typing import Any

from django.contrib import admin
from django.http import HttpRequest

# The part of a page's context that names lists and navigation, empty.
NOWHERE: dict[str, Any] = {"navigation": [], "related_lists": []}


def step_context(request: HttpRequest) -> dict[str, Any]:
    """The context of a page before the sign-in is complete, which leads nowhere else yet."""
    return {**admin.site.each_context(request), **NOWHERE}
