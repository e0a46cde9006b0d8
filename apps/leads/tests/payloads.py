"""Complete request bodies of the forms, and texts that no visitor may be mailed."""

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

VISITOR = "bruno@example.com"
PHONE = "600 222 222"
CONTACT = {
    "name": "Bruno Ibáñez",
    "email": VISITOR,
    "phone": "",
    "message": "¿Tenéis <b>Álgebra</b>?\nGracias.",
    "privacyAccepted": True,
}
DISCOUNT = {"phone": PHONE, "email": VISITOR, "career": "educacion-social", "acceptTerms": True}
FREE_SUBJECT = {"email": VISITOR, "phone": PHONE, "career": "Psicología", "acceptTerms": True}
SUBJECT_REQUEST = {
    "name": "Bruno Ibáñez",
    "email": VISITOR,
    "phone": PHONE,
    "university": "Universidad Abierta",
    "career": "Economía",
    "subjectName": "Econometría II",
}
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"


def preview(name: str = "pec.pdf", content: bytes = PDF, **changes: Any) -> dict[str, Any]:
    file = SimpleUploadedFile(name, content)
    return {"email": VISITOR, "attachment": file, "acceptTerms": "true", **changes}


def budget(*subjects: Any, **changes: Any) -> dict[str, Any]:
    """Return a budget for these subjects, with names and prices invented by the client."""
    return {
        "formData": {
            "numberOfSubjects": str(len(subjects)),
            "fullPayment": False,
            "wasInvited": False,
            "friendCode": "",
            "dateRange": "sept-22",
            "numberOfInvitees": "0",
            "selectedSubjects": [
                {"id": subject.pk, "name": "<b>Gratis</b>", "final_price": 0.01, "degree_id": 1}
                for subject in subjects
            ],
            "selectedUniversityId": subjects[0].degree.university_id if subjects else None,
            "selectedDegreeId": subjects[0].degree_id if subjects else None,
            **changes,
        },
        "budgetResult": {
            "selectedSubjects": [],
            "basePrice": 0.01,
            "discounts": [],
            "finalPrice": 0.01,
        },
        "email": VISITOR,
        "phone": PHONE,
    }
