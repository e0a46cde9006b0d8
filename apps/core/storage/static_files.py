"""Static files of the web process (docs/rules.md, "Static files")."""

import os
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware  # type: ignore[import-untyped]


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise, and the files that were collected after the process started.

    WhiteNoise lists the files once. During a release a page of a new process may ask an old one
    for a new file.
    """

    def __init__(self, get_response: Any) -> None:
        super().__init__(get_response)
        if not self.autorefresh:
            self.directories = [(os.path.join(self.static_root, ""), self.static_prefix)]  # noqa: PTH118

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        if not self.autorefresh and path.startswith(self.static_prefix) and path not in self.files:
            found = self.find_file(path)
            if found is not None:
                self.files[path] = found
        response: HttpResponseBase = super().__call__(request)
        return response
