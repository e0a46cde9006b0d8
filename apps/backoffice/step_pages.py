from typing import Any

from django.contrib import admin
from django.http import HttpRequest


def step_context(request: HttpRequest) -> dict[str, Any]:
    """The context of a page before the sign-in is complete, which leads nowhere else yet."""
    without_lists: dict[str, Any] = {"available_apps": [], "navigation": []}
    return {**admin.site.each_context(request), **without_lists}
