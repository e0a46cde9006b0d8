"""All settings, read from the environment. `.env.example` and docs/settings.md list them.

The environment wins over `.env`. With DEBUG=true every other setting has a default that works, so a
developer needs no file at all. Without it SECRET_KEY is required.
"""

from urllib.parse import urlsplit

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from academy.database_settings import databases
from academy.environment import BASE_DIR, env
from academy.error_reports import start_error_reports
from academy.log_settings import logging_config
from academy.storage_settings import storages

# ---------------------------------------------------------------- deployment
DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="") or ("only-for-development" if DEBUG else "")
if not SECRET_KEY:
    raise ImproperlyConfigured("Falta SECRET_KEY en el entorno.")
# Former SECRET_KEYs: their signatures are still accepted. New signatures use SECRET_KEY.
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
PORT = env.int("PORT", default=8000)
SITE_URL = env.str("SITE_URL", default=f"http://127.0.0.1:{PORT}").rstrip("/")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["*"] if DEBUG else [])
VAR_DIR = BASE_DIR / env.str("VAR_DIR", default="var")
VAR_DIR.mkdir(parents=True, exist_ok=True)

# A restored copy for practice. It charges, mails and enrols nobody, and keeps away from what it
# would share with the real shop: the bucket, the replica and the cache.
REHEARSAL = env.bool("REHEARSAL", default=False)

# The number of the academy's own proxies in front of the web process. The visitor's address is that
# many hops back in X-Forwarded-For. With 0 it is REMOTE_ADDR.
TRUSTED_PROXIES = env.int("TRUSTED_PROXIES", default=0)
RATE_LIMIT_SCALE = env.float("RATE_LIMIT_SCALE", default=1.0)
# Cards that may be refused in a minute, of all visitors together, before no payment is opened.
REFUSED_CARDS_PER_MINUTE = env.int("REFUSED_CARDS_PER_MINUTE", default=30)
# Where errors are reported to. Empty: nowhere, and the package is not imported.
SENTRY_DSN = env.str("SENTRY_DSN", default="")
if SENTRY_DSN:
    start_error_reports(SENTRY_DSN)
# The token of the programs that read /monitor and /metrics. Empty: these pages do not exist.
MONITOR_TOKEN = env.str("MONITOR_TOKEN", default="")
# Mails that strangers can cause to one mailbox in an hour. 3 of them are kept for sign-in links.
MAILS_PER_RECIPIENT = env.int("MAILS_PER_RECIPIENT", default=6)

# The page that shows the API's document. Its scripts take 28 MB once they are collected.
API_DOCS = env.bool("API_DOCS", default=DEBUG)

# ---------------------------------------------------------------- applications
INSTALLED_APPS = [
    "apps.backoffice.apps.BackofficeAdminConfig",
    "apps.backoffice",
    "apps.pages",
    "apps.leads",
    "apps.payments",
    "apps.invoices",
    "apps.orders",
    "apps.classroom",
    "apps.pricing",
    "apps.catalogue",
    "apps.students",
    "apps.core",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    *(["drf_spectacular_sidecar"] if API_DOCS else []),
    "django_tasks",
    "django_tasks_db",
    "anymail",
    "django_guid",
    "csp",
    "django_otp",
    "django_otp.plugins.otp_static",
    "django_otp.plugins.otp_totp",
]

MIDDLEWARE = [
    # Gives each request an id, or takes over the proxy's. Log lines and the answer have it.
    "django_guid.middleware.guid_middleware",
    # Before all others: it answers for them.
    "apps.core.page_cache.middleware.PageCacheMiddleware",
    "apps.core.web.middleware.PieceOfWorkMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "apps.core.storage.static_files.StaticFilesMiddleware",
    # Compresses pages to a sixth. Django adds random padding against the BREACH attack.
    "django.middleware.gzip.GZipMiddleware",
    "csp.middleware.CSPMiddleware",
    "apps.core.web.middleware.BrowserHeadersMiddleware",
    "apps.core.web.health.ProbeMiddleware",
    "apps.core.web.proxies.UnknownProxyMiddleware",
    "apps.core.web.middleware.BadRequestMiddleware",
    "apps.core.web.middleware.CanonicalPathMiddleware",
    "apps.payments.middleware.StripeTimeMiddleware",
    "django.middleware.http.ConditionalGetMiddleware",
    "apps.classroom.middleware.ClassroomSessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "apps.backoffice.at_once.PagesAtOnceMiddleware",
]

ROOT_URLCONF = "academy.urls"
WSGI_APPLICATION = "academy.wsgi.application"
# No page has a trailing slash; CanonicalPathMiddleware redirects the other way.
APPEND_SLASH = False

MESSAGE_STORAGE = "apps.core.web.few_messages.FewMessages"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.payments.context.site",
                "apps.catalogue.context.vat",
                "apps.pages.context.test_mode",
                "apps.pages.context.sale_terms",
            ],
            "builtins": ["apps.core.templatetags.academy"],
        },
    }
]

# ---------------------------------------------------------------- database
DATABASES = databases(VAR_DIR, with_replica=not REHEARSAL)
DATABASE_ROUTERS = ["apps.core.replica.ReplicaRouter"]
SILENCED_SYSTEM_CHECKS = [
    # SQLite ignores the INCLUDE columns of the catalogue's indexes, which is harmless.
    "models.W040",
    # Whoever deploys decides with HSTS_SUBDOMAINS, SECURE_SSL_REDIRECT and HSTS_PRELOAD: other
    # subdomains may lack https, and the proxy may redirect.
    "security.W005",
    "security.W008",
    "security.W021",
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# ---------------------------------------------------------------- finished pages
# Keeps finished public pages, and asks the database for changes this often.
PAGE_CACHE = env.bool("PAGE_CACHE", default=True)
PAGE_CACHE_POLL_SECONDS = env.float("PAGE_CACHE_POLL_SECONDS", default=0.5)
# Where they are kept behind the process's own memory. With a Valkey or Redis all processes share
# them.
CACHES = {"default": env.cache_url("CACHE_URL", default="locmemcache://")}
if REHEARSAL:
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
if CACHES["default"]["BACKEND"].endswith("LocMemCache"):
    CACHES["default"]["OPTIONS"] = {"MAX_ENTRIES": 128}

TASKS = {
    "default": {
        "BACKEND": "django_tasks_db.DatabaseBackend",
        # Each queue has a worker of its own (Procfile). If Stripe, the mail server or the classroom
        # hangs, only its own tasks wait. A worker of several queues takes access first, then events
        # of Stripe, then mails: the tasks have priorities.
        "QUEUES": ["access", "mail", "provider"],
    }
}

# ---------------------------------------------------------------- backups
# Where `manage.py backup` puts its archives.
BACKUP_DIR = BASE_DIR / env.str("BACKUP_DIR", default=str(VAR_DIR / "backups"))
# The public key that archives are encrypted for: age1… or ssh-… for age, else a GPG key.
BACKUP_RECIPIENT = env.str("BACKUP_RECIPIENT", default="")
# "Hoy" shows a backup that is older than this many hours. 0: never.
BACKUP_MAX_AGE_HOURS = env.int("BACKUP_MAX_AGE_HOURS", default=0 if DEBUG else 26)

# The monitor shows a disk that has less than this left where the shop writes, and visitors send no
# files. 0: never.
DISK_MIN_FREE_MB = env.int("DISK_MIN_FREE_MB", default=500)
# The folder of PostgreSQL, if it is on this machine, whose disk is then watched, too.
DATABASE_DIR = env.str("DATABASE_DIR", default="")
# Workers and clock touch it with each heartbeat, for the health check of a container.
HEARTBEAT_FILE = env.str("HEARTBEAT_FILE", default="")

# The attachments of forms that nobody has answered may take this much together.
ATTACHMENTS_MAX_MB = env.int("ATTACHMENTS_MAX_MB", default=1000)

# ---------------------------------------------------------------- invoices
# Records invoices for the tax agency: "" (off), "pruebas" (its test environment) or "produccion".
VERIFACTU = env.str("VERIFACTU", default="")
# The certificate with which records are sent: a PEM file with the certificate and its key.
VERIFACTU_CERTIFICATE = env.str("VERIFACTU_CERTIFICATE", default="")

# ---------------------------------------------------------------- language and time
LANGUAGE_CODE = "es"
TIME_ZONE = "Europe/Madrid"
USE_I18N = True
USE_TZ = True

# ---------------------------------------------------------------- static files
# A path of this site, or the address of a CDN that fetches from there.
STATIC_URL = env.str("STATIC_URL", default="/static/")
_STATIC = [urlsplit(STATIC_URL)._replace(path="").geturl()] if "://" in STATIC_URL else []
# `collectstatic` writes it, and keeps the files of earlier releases: their pages are still open.
STATIC_ROOT = VAR_DIR / "static_root"
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
# `npm run build` writes it. It is a part of the release, like the code.
STATIC_BUILD = BASE_DIR / "var" / "static_build"
STATICFILES_DIRS = [STATIC_BUILD] if STATIC_BUILD.is_dir() else []
# Where the manifest of the front end is read.
FRONT_END = STATIC_BUILD if DEBUG else STATIC_ROOT
# The bucket of an S3-compatible service for pictures and attachments. Empty: folders of VAR_DIR.
S3_BUCKET = "" if REHEARSAL else env.str("S3_BUCKET", default="")
STORAGES = storages(VAR_DIR, S3_BUCKET, debug=DEBUG)
WHITENOISE_USE_FINDERS = DEBUG
WHITENOISE_IMMUTABLE_FILE_TEST = r"^.+[.-][0-9A-Za-z]{8,12}\..+$"

# ---------------------------------------------------------------- security
SESSION_ENGINE = "apps.core.web.session_store"
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SITE_URL.startswith("https://")
# A browser accepts a `__Host-` cookie only from this very host, encrypted and for all paths:
# a subdomain can't plant one.
COOKIE_PREFIX = "__Host-" if SESSION_COOKIE_SECURE else ""
SESSION_COOKIE_NAME = f"{COOKIE_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrftoken"
CSRF_TRUSTED_ORIGINS = [SITE_URL]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "strict-origin-when-cross-origin"
SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", default=False)
# Probes come from the proxy itself, without TLS.
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz)$"]
SECURE_HSTS_SECONDS = 31_536_000 if SITE_URL.startswith("https://") else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.bool("HSTS_SUBDOMAINS", default=False)
SECURE_HSTS_PRELOAD = env.bool("HSTS_PRELOAD", default=False)
if TRUSTED_PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "apps.backoffice.forbidden.csrf_failure"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "apps.core.password_length.PasswordLength"},
    *(
        {"NAME": f"django.contrib.auth.password_validation.{name}"}
        for name in (
            "UserAttributeSimilarityValidator",
            "CommonPasswordValidator",
            "NumericPasswordValidator",
        )
    ),
]
# Whether staff who may refund, export or change accounts need a second factor.
REQUIRE_SECOND_FACTOR = env.bool("REQUIRE_SECOND_FACTOR", default=not DEBUG)

# ---------------------------------------------------------------- card payments (Stripe)
STRIPE_SECRET_KEY = env.str("STRIPE_SECRET_KEY", default="")
STRIPE_PUBLISHABLE_KEY = env.str("STRIPE_PUBLISHABLE_KEY", default="")
STRIPE_WEBHOOK_SECRET = env.str("STRIPE_WEBHOOK_SECRET", default="")
# Secrets of webhook endpoints whose events are still accepted, besides STRIPE_WEBHOOK_SECRET.
STRIPE_WEBHOOK_SECRET_FALLBACKS = env.list("STRIPE_WEBHOOK_SECRET_FALLBACKS", default=[])
STRIPE_API_BASE = env.str("STRIPE_API_BASE", default="")
# The local Stripe sandbox charges nothing. In development a shop without Stripe keys uses it;
# `make run` starts it with these very keys.
STRIPE_SANDBOX = env.bool("STRIPE_SANDBOX", default=DEBUG and not STRIPE_SECRET_KEY)
if DEBUG and STRIPE_SANDBOX:
    STRIPE_SECRET_KEY = STRIPE_SECRET_KEY or "sk_test_sandbox0123456789"
    STRIPE_PUBLISHABLE_KEY = STRIPE_PUBLISHABLE_KEY or "pk_test_sandbox0123456789"
    STRIPE_WEBHOOK_SECRET = STRIPE_WEBHOOK_SECRET or "whsec_sandbox0123456789"
    _sandbox_port = env.int("SANDBOX_PORT", default=PORT + 1)
    STRIPE_API_BASE = STRIPE_API_BASE or f"http://127.0.0.1:{_sandbox_port}"
# Where the buyer pays: "embedded" is the card form in the dialog, "hosted" Stripe's own page.
STRIPE_CHECKOUT = env.str("STRIPE_CHECKOUT", default="embedded")
# Offer Apple Pay, Google Pay, Link… in the dialog, if the account and the browser have them.
STRIPE_WALLETS = env.bool("STRIPE_WALLETS", default=True)
# Whether Stripe mails the receipts of payments. Otherwise the shop does: one mail each either way.
STRIPE_RECEIPTS = env.bool("STRIPE_RECEIPTS", default=False)
# The file with which Apple verifies the domain; it comes from Stripe's dashboard.
APPLE_PAY_DOMAIN_FILE = env.str("APPLE_PAY_DOMAIN_FILE", default="")
# Minutes that an opened payment can be paid. After that the shop cancels it at Stripe.
OPEN_PAYMENT_MINUTES = env.int("OPEN_PAYMENT_MINUTES", default=60)
# Seconds that one attempt of a call to Stripe may take; a call without an answer is repeated once.
STRIPE_TIMEOUT = env.float("STRIPE_TIMEOUT", default=10.0)
# Seconds that all calls of one request may take together, repetitions included.
STRIPE_REQUEST_SECONDS = env.float("STRIPE_REQUEST_SECONDS", default=12.0)
# Calls that may wait at once in one process. A web process has 16 threads (Procfile): if so many of
# them wait for Stripe, four still answer everything else.
STRIPE_MAX_WAITING = env.int("STRIPE_MAX_WAITING", default=12)
# After this many failed calls in a row, no call is made for this many seconds.
STRIPE_BREAKER_FAILURES = env.int("STRIPE_BREAKER_FAILURES", default=5)
STRIPE_BREAKER_SECONDS = env.float("STRIPE_BREAKER_SECONDS", default=15.0)
# For a rehearsal with DEBUG=false. Each shows a badge on every page.
ALLOW_TEST_KEYS = env.bool("ALLOW_TEST_KEYS", default=False)
ALLOW_LOCAL_SITE = env.bool("ALLOW_LOCAL_SITE", default=False)
STRIPE_SCRIPT_URL = (
    f"{STRIPE_API_BASE}/v3/stripe.js" if STRIPE_SANDBOX else "https://js.stripe.com/v3/"
)

_stripe_hosts = ["https://js.stripe.com", "https://*.js.stripe.com"]
# Additions to the content policy of all pages, for the pages that pay.
STRIPE_POLICY = {
    "script-src": [STRIPE_API_BASE] if STRIPE_SANDBOX else _stripe_hosts,
    "connect-src": [STRIPE_API_BASE] if STRIPE_SANDBOX else ["https://api.stripe.com"],
    "frame-src": [STRIPE_API_BASE]
    if STRIPE_SANDBOX
    else [*_stripe_hosts, "https://hooks.stripe.com"],
}
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, *_STATIC],
        "style-src": [SELF, *_STATIC],
        "img-src": [SELF, "data:", *_STATIC],
        "font-src": [SELF, *_STATIC],
        "connect-src": [SELF],
        # The video player of the home page, loaded after a click.
        "frame-src": ["https://player.vimeo.com"],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "report-uri": ["/csp-report"],
        "report-to": ["csp"],
    }
}

# ---------------------------------------------------------------- e-mail
# Without a mail provider, and in a rehearsal, each mail is a file under var/mail, which the admin
# shows.
EMAIL_BACKEND = "apps.core.mail.backends.FileBackend"
EMAIL_FILE_PATH = VAR_DIR / "mail"
EMAIL_TIMEOUT = 20
ANYMAIL: dict[str, str] = {}
# How the names of mail providers' own settings end.
MAIL_PROVIDER_SETTINGS = (
    "_API_KEY", "_API_TOKEN", "_SERVER_TOKEN", "_SENDER_DOMAIN", "_API_URL",
    "_WEBHOOK_KEY", "_WEBHOOK_SIGNING_KEY", "_SIGNING_SECRET", "_WEBHOOK_VERIFICATION_KEY",
)  # fmt: skip
if REHEARSAL:
    pass
elif env.str("EMAIL_URL", default=""):
    vars().update(env.email_url("EMAIL_URL"))
elif env.str("ANYMAIL_BACKEND", default=""):
    # e.g. anymail.backends.brevo.EmailBackend, with its own variables such as BREVO_API_KEY.
    EMAIL_BACKEND = env.str("ANYMAIL_BACKEND")
    ANYMAIL = {
        name: value for name, value in env.ENVIRON.items() if name.endswith(MAIL_PROVIDER_SETTINGS)
    }
    # "user:password", with which the provider calls /avisos-de-correo.
    ANYMAIL["WEBHOOK_SECRET"] = env.str("ANYMAIL_WEBHOOK_SECRET", default="")
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="Academia Faro <hola@academia.example>")
STAFF_EMAIL = env.str("STAFF_EMAIL", default="equipo@academia.example")

# ---------------------------------------------------------------- the academy
BRAND_NAME = env.str("BRAND_NAME", default="Academia Faro")
OTP_TOTP_ISSUER = BRAND_NAME
STUDENT_LOGIN = env.bool("STUDENT_LOGIN", default=False)
# The classroom that purchases give access to: "local" is the small one of this site.
CLASSROOM = env.str("CLASSROOM", default="local")
# Moodle's address and the token of its web service, with CLASSROOM=moodle.
MOODLE_URL = env.str("MOODLE_URL", default="").rstrip("/")
MOODLE_TOKEN = env.str("MOODLE_TOKEN", default="")
# The id of the role that students are enrolled with. In a default Moodle it is 5.
MOODLE_STUDENT_ROLE = env.int("MOODLE_STUDENT_ROLE", default=5)
# How new users sign in, their language (empty: Moodle's own), and who sees their address: 0 nobody
# but teachers, 1 everybody, 2 classmates.
MOODLE_AUTH = env.str("MOODLE_AUTH", default="manual")
MOODLE_LANG = env.str("MOODLE_LANG", default="")
MOODLE_MAILDISPLAY = env.int("MOODLE_MAILDISPLAY", default=0)
# The group that students are put into in each course, such as "{semester} {year}"; empty: none.
MOODLE_GROUP = env.str("MOODLE_GROUP", default="")
# Moodle's password policy in Spanish, beside the field. Moodle tells it only when it refuses one.
MOODLE_PASSWORD_HINT = env.str(
    "MOODLE_PASSWORD_HINT",
    default="Al menos 8 caracteres, con mayúsculas, minúsculas, algún número y algún símbolo como "
    "*, - o #.",
)
# Whether the shop signs students in to Moodle as an OpenID Connect provider, the secret that Moodle
# has for it, and the file of the RSA key that signs ID tokens.
CLASSROOM_SIGN_IN = env.bool("CLASSROOM_SIGN_IN", default=False)
OIDC_CLIENT_SECRET = env.str("OIDC_CLIENT_SECRET", default="")
OIDC_KEY_FILE = env.str("OIDC_KEY_FILE", default=str(VAR_DIR / "oidc-key.pem") if DEBUG else "")
_in_moodle = CLASSROOM == "moodle"
PORTAL_URL = env.str("PORTAL_URL", default=f"{MOODLE_URL}/my/" if _in_moodle else "/aula")
PORTAL_PROFILE_URL = env.str(
    "PORTAL_PROFILE_URL", default=f"{MOODLE_URL}/user/profile.php" if _in_moodle else "/aula/perfil"
)
# Euros that one member of staff may refund in a day.
REFUND_DAILY_LIMIT = env.int("REFUND_DAILY_LIMIT", default=1000)
# Euros in bank transfers that one member of staff may record in a day.
TRANSFER_DAILY_LIMIT = env.int("TRANSFER_DAILY_LIMIT", default=2000)
# The account that buyers transfer to. Empty: no orders are made for payment by transfer.
TRANSFER_IBAN = env.str(
    "TRANSFER_IBAN", default="ES91 2100 0418 4502 0005 1332" if DEBUG else ""
).strip()
# Former settings, now terms of sale in the admin, with the values that a deployment still has.
FORMER_SETTINGS: dict[str, str] = {
    name: value
    for name in ("INSTALMENT_COUNT", "INSTALMENT_EVERY_DAYS", "CART_REMINDER_HOURS")
    if (value := env.str(name, default=None)) is not None
}
# Hide list prices that were never charged in the last 30 days (EU price indication law).
REQUIRE_PRICE_HISTORY = env.bool("REQUIRE_PRICE_HISTORY", default=False)

# ---------------------------------------------------------------- logs
LOGGING = logging_config(debug=DEBUG)
DJANGO_GUID = {"GUID_HEADER_NAME": "X-Request-ID", "EXPOSE_HEADER": False}

# ---------------------------------------------------------------- API
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["apps.core.web.parsers.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "apps.core.web.api_schema.AcademySchema",
    "EXCEPTION_HANDLER": "apps.core.web.api.exception_handler",
    "COERCE_DECIMAL_TO_STRING": False,
}
SPECTACULAR_SETTINGS = {
    "TITLE": f"API de {BRAND_NAME}",
    "DESCRIPTION": "Catálogo, precios, pago, recuperación de compras y formularios.",
    "VERSION": "1.0.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    # A ticked box: several fields of the forms have this one value.
    "ENUM_NAME_OVERRIDES": {"TickedEnum": [(True, True)]},
}
