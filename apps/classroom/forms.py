from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from apps.core.input_fields import EmailFormField
from apps.students.models import Student


class SiteForm(forms.Form):
    """A form with the site's CSS class on its inputs and the site's error messages."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs.setdefault("class", "input")
            field.error_messages.setdefault(
                "max_length", "Escribe como mucho %(limit_value)d caracteres."
            )


def email_field() -> EmailFormField:
    return EmailFormField(
        label="Email",
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "username"}),
        error_messages={
            "required": "Escribe tu email.",
            "invalid": "Escribe un email válido.",
        },
    )


class SignInForm(SiteForm):
    email = email_field()
    password = forms.CharField(
        label="Contraseña",
        max_length=128,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        error_messages={"required": "Escribe tu contraseña."},
    )


class NewLinkForm(SiteForm):
    email = email_field()


class SetPasswordForm(SiteForm):
    """Names and a repeated password, checked with Django's validators for that student."""

    first_name = forms.CharField(
        label="Nombre",
        max_length=80,
        widget=forms.TextInput(attrs={"autocomplete": "given-name"}),
        error_messages={"required": "Escribe tu nombre."},
    )
    last_name = forms.CharField(
        label="Apellidos",
        max_length=120,
        widget=forms.TextInput(attrs={"autocomplete": "family-name"}),
        error_messages={"required": "Escribe tus apellidos."},
    )
    password = forms.CharField(
        label="Contraseña nueva",
        help_text="Al menos 8 caracteres, no solo números; ni parecida a tus datos ni muy usada.",
        max_length=128,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        error_messages={"required": "Escribe una contraseña."},
    )
    password_again = forms.CharField(
        label="Repite la contraseña",
        max_length=128,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        error_messages={"required": "Repite la contraseña."},
    )

    def __init__(self, *args: Any, student: Student, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.student = student
        if settings.CLASSROOM == "moodle" and settings.MOODLE_PASSWORD_HINT:
            self.fields["password"].help_text = settings.MOODLE_PASSWORD_HINT

    def clean(self) -> dict[str, Any]:
        data = cast(dict[str, Any], super().clean())
        password, again = data.get("password"), data.get("password_again")
        if password and again and password != again:
            self.add_error("password_again", "Las dos contraseñas no son iguales.")
        if password:
            as_typed = Student(
                email=self.student.email,
                first_name=data.get("first_name", ""),
                last_name=data.get("last_name", ""),
            )
            try:
                validate_password(password, user=cast(Any, as_typed))
            except ValidationError as error:
                self.add_error("password", error)
        return data
