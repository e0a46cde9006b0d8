"""The random value under which a student is known to an external classroom."""

from apps.students.models import Student, new_classroom_key


def classroom_key(student: Student) -> str:
    """The student's key; a row of an earlier version gets one now.

    Safe for two workers at once: the first key that is stored stays.
    """
    if not student.classroom_key:
        unset = Student.objects.filter(pk=student.pk, classroom_key="")
        unset.update(classroom_key=new_classroom_key())
        student.refresh_from_db(fields=["classroom_key"])
    return student.classroom_key
