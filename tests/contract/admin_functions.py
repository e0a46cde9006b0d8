"""The functions of Moodle's web services that the tests call as its administrator."""

ADMIN_FUNCTIONS = (
    "core_course_create_courses",
    "core_course_delete_courses",
    "core_course_update_courses",
    "core_enrol_get_users_courses",
    "core_role_assign_roles",
    "core_user_create_users",
    "core_user_delete_users",
    "core_user_get_course_user_profiles",
    "core_user_get_users",
    "core_user_get_users_by_field",
    "core_user_update_users",
    "enrol_manual_enrol_users",
    "enrol_manual_unenrol_users",
)
