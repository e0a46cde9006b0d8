"""The OpenID Connect provider: Authlib's protocol over our codes, for one client.

The client is the academy's Moodle. The package is imported only while the switch is on
(`CLASSROOM_SIGN_IN`).
"""

import secrets
from functools import cache
from typing import Any

from authlib.integrations.django_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, InvalidRequestError, OAuth2Payload, OAuth2Request
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import OpenIDCode, UserInfo
from authlib.oidc.rpinitiated import EndSessionEndpoint
from django.conf import settings
from django.http import HttpRequest, QueryDict
from django.utils.crypto import constant_time_compare

from apps.classroom.backends.moodle.entry import CLIENT_ID
from apps.classroom.models import Account, EntryCode
from apps.classroom.one_sign_in import entry_codes
from apps.classroom.one_sign_in.signing_key import ALGORITHM, public_keys, signing_key
from apps.classroom.one_sign_in.student_identity import Identity
from apps.classroom.one_sign_in.switch import after_sign_out, redirect_uri
from apps.students.models import SignIn

SCOPES = ("openid", "profile", "email")
METHODS = ("client_secret_basic", "client_secret_post")
# The ID token is read once, right after the sign-in.
ID_TOKEN_SECONDS = 300


class MoodleClient(ClientMixin):  # type: ignore[misc]  # the package has no types
    """The academy's Moodle, as the settings describe it."""

    id_token_signed_response_alg = ALGORITHM

    def get_client_id(self) -> str:
        return CLIENT_ID

    def get_default_redirect_uri(self) -> None:
        """A request has to name its address."""

    def get_allowed_scope(self, scope: str | None) -> str | None:
        asked = (scope or "").split()
        # None is an error: without "openid" it would be no sign-in.
        return " ".join(name for name in SCOPES if name in asked) if "openid" in asked else None

    def check_redirect_uri(self, uri: str) -> bool:
        return uri == redirect_uri()

    def check_client_secret(self, client_secret: str) -> bool:
        return constant_time_compare(
            client_secret.encode(errors="replace"), settings.OIDC_CLIENT_SECRET.encode()
        )

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method in METHODS

    def check_response_type(self, response_type: str | None) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"

    @property
    def client_metadata(self) -> dict[str, list[str]]:
        return {"post_logout_redirect_uris": [after_sign_out()]}


class SentFields(OAuth2Payload):  # type: ignore[misc]
    """The fields of the query or those of the body, never a mixture."""

    def __init__(self, fields: QueryDict) -> None:
        self._fields = fields

    @property
    def data(self) -> dict[str, Any]:
        return self._fields.dict()

    @property
    def datalist(self) -> dict[str, list[Any]]:
        return {name: self._fields.getlist(name) for name in self._fields}


class SentRequest(OAuth2Request):  # type: ignore[misc]
    # Set before a code is issued: the shop's sign-in, the account, and its address in Moodle.
    sign_in: SignIn
    account: Account
    address: str

    def __init__(self, request: HttpRequest, fields: QueryDict) -> None:
        # The address begins with SITE_URL, so that Authlib sees https behind a proxy, too.
        super().__init__(
            request.method, f"{settings.SITE_URL}{request.path}", None, request.headers
        )
        self.payload = SentFields(fields)
        self._fields = fields

    @property
    def args(self) -> QueryDict:
        return self._fields

    @property
    def form(self) -> QueryDict:
        return self._fields


class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = list(METHODS)

    def save_authorization_code(self, code: str, request: "SentRequest") -> None:
        """`generate_authorization_code` has stored it."""

    def generate_authorization_code(self) -> str:
        request, fields = self.request, self.request.payload.data
        return entry_codes.issue_code(
            sign_in=request.sign_in,
            external_id=request.account.external_id,
            email=request.address,
            redirect_uri=fields["redirect_uri"],
            scope=request.scope,
            nonce=fields.get("nonce", ""),
            code_challenge=fields.get("code_challenge", ""),
        )

    def query_authorization_code(self, code: str, client: MoodleClient) -> "StoredCode | None":
        row = entry_codes.usable_code(code)
        return StoredCode(row) if row else None

    def authenticate_user(self, authorization_code: "StoredCode") -> Identity | None:
        return entry_codes.identity_for(authorization_code.row)

    def save_token(self, token: dict[str, Any]) -> None:
        row = self.request.authorization_code.row
        if not entry_codes.use_code(row, token["access_token"]):
            raise InvalidRequestError("The code was used.")

    def delete_authorization_code(self, authorization_code: "StoredCode") -> None:
        """`save_token` has marked it as used. The row stays, so that a second use is noticed."""


class StoredCode:
    """A row as Authlib reads it."""

    def __init__(self, row: EntryCode) -> None:
        self.row = row
        self.code_challenge = row.code_challenge
        self.code_challenge_method = "S256"

    def get_redirect_uri(self) -> str:
        return self.row.redirect_uri

    def get_scope(self) -> str:
        return self.row.scope

    def get_nonce(self) -> str:
        return self.row.nonce

    def get_auth_time(self) -> int:
        return int(self.row.sign_in.started_at.timestamp())

    def get_acr(self) -> None:
        return None

    def get_amr(self) -> None:
        return None


class HashedChallenge(CodeChallenge):  # type: ignore[misc]
    """PKCE with S256 alone: "plain" proves nothing."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]

    def validate_code_challenge(self, grant: CodeGrant, redirect_uri: str) -> None:
        super().validate_code_challenge(grant, redirect_uri)
        fields = grant.request.payload.data
        if fields.get("code_challenge") and fields.get("code_challenge_method") != "S256":
            raise InvalidRequestError("Unsupported 'code_challenge_method'")


class IdToken(OpenIDCode):  # type: ignore[misc]
    def resolve_client_private_key(self, client: MoodleClient) -> Any:
        return signing_key()

    def get_encode_header(self, client: MoodleClient) -> dict[str, str]:
        return {"alg": ALGORITHM, "kid": signing_key().thumbprint(), "typ": "JWT"}

    def get_client_claims(self, client: MoodleClient) -> dict[str, Any]:
        return {"iss": settings.SITE_URL, "aud": CLIENT_ID}

    DEFAULT_EXPIRES_IN = ID_TOKEN_SECONDS

    def exists_nonce(self, nonce: str, request: OAuth2Request) -> bool:
        """Each code is used once, so a repeated nonce replays nothing."""
        return False

    def generate_user_info(self, user: Identity, scope: str) -> UserInfo:
        return user_info(user, scope)


class SignOut(EndSessionEndpoint):  # type: ignore[misc]
    def get_server_jwks(self) -> dict[str, Any]:
        return public_keys()

    def get_algorithms(self) -> list[str]:
        return [ALGORITHM]

    def is_post_logout_redirect_uri_legitimate(self, *args: Any) -> bool:
        """The only one that is registered is the academy's own Moodle."""
        return True


class Server(AuthorizationServer):  # type: ignore[misc]
    def query_client(self, client_id: str) -> MoodleClient | None:
        return MoodleClient() if client_id == CLIENT_ID else None

    def create_oauth2_request(self, request: HttpRequest | OAuth2Request) -> OAuth2Request:
        if isinstance(request, OAuth2Request):
            return request
        return SentRequest(request, request.POST if request.method == "POST" else request.GET)

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Nothing listens."""


def new_token(
    grant_type: str, client: MoodleClient, scope: str = "", **kwargs: Any
) -> dict[str, Any]:
    """A random access token. There is no refresh token."""

    return {
        "token_type": "Bearer",
        "access_token": secrets.token_urlsafe(32),
        "expires_in": int(entry_codes.TOKEN_LIFETIME.total_seconds()),
        "scope": scope,
    }


@cache
def openid_server() -> Server:
    server = Server(MoodleClient, EntryCode)
    server.scopes_supported = None  # Unknown scopes are left out, as RFC 6749 allows.
    server.register_token_generator("default", new_token)
    server.register_grant(CodeGrant, [HashedChallenge(required=False), IdToken()])
    server.register_endpoint(SignOut)
    return server


def user_info(identity: Identity, scope: str) -> UserInfo:
    """The claims about a student that the scope covers."""
    claims = UserInfo(sub=identity.subject)
    scopes = scope.split()
    if "profile" in scopes:
        claims |= {
            "preferred_username": identity.username,
            "given_name": identity.first_name,
            "family_name": identity.last_name,
        }
    if "email" in scopes:
        claims |= {"email": identity.email, "email_verified": True}
    return claims
