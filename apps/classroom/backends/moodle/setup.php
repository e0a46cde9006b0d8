<?php
// Prepares a Moodle for the shop: web services, role, user, service and token.
//
// Run it on Moodle's machine, as the user of its web server, from Moodle's folder:
//
//     sudo -u www-data php /tmp/academia.php
//
// The script can be repeated: it adds what is missing, and it prints the same token again.

define('CLI_SCRIPT', true);

$plan = json_decode(<<<'JSON'
{{ plan }}
JSON, true);

$folder = $argv[1] ?? getcwd();
if (!is_file("$folder/config.php") || !is_file("$folder/version.php")) {
    fwrite(STDERR, "Ejecuta este guion desde la carpeta de Moodle, o escribe su ruta detrás.\n");
    exit(1);
}
// Moodle 5.1 keeps these libraries in the folder public.
require("$folder/config.php");
require_once("$CFG->libdir/clilib.php");
require_once("$CFG->libdir/enrollib.php");
require_once("$CFG->dirroot/user/lib.php");
require_once("$CFG->dirroot/webservice/lib.php");

core\session\manager::set_user(get_admin());
$system = context_system::instance();
$service_manager = new webservice();

// Web services and REST.
set_config('enablewebservices', 1);
$protocols = array_filter(explode(',', $CFG->webserviceprotocols ?? ''));
if (!in_array('rest', $protocols)) {
    set_config('webserviceprotocols', implode(',', [...$protocols, 'rest']));
}

// The shop looks its students up by address: Moodle must show the address to the role.
$identity = array_filter(explode(',', $CFG->showuseridentity));
if (!in_array('email', $identity)) {
    set_config('showuseridentity', implode(',', [...$identity, 'email']));
}

// The role.
$role_id = $DB->get_field('role', 'id', ['shortname' => $plan['shortname']])
    ?: create_role($plan['name'], $plan['shortname'], $plan['description']);
set_role_contextlevels($role_id, [CONTEXT_SYSTEM]);
foreach ($plan['capabilities'] as $capability) {
    if (get_capability_info($capability)) {
        assign_capability($capability, CAP_ALLOW, $role_id, $system->id, true);
    } else {
        echo "Moodle $CFG->release no tiene el permiso $capability.\n";
    }
}
$student_role = $DB->get_record('role', ['shortname' => 'student']);
$student_role = $student_role ?: current(get_archetype_roles('student'));
$allowed = ['roleid' => $role_id, 'allowassign' => $student_role->id];
if (!$DB->record_exists('role_allow_assign', $allowed)) {
    core_role_set_assign_allowed($role_id, $student_role->id);
}

// The user of the token. It cannot sign in: nobody knows its password.
$user = $DB->get_record('user', ['username' => $plan['shortname'], 'deleted' => 0]);
if (!$user) {
    $user_id = user_create_user((object) [
        'username' => $plan['shortname'],
        'password' => 'Aa1-' . bin2hex(random_bytes(24)),
        'firstname' => $plan['name'],
        'lastname' => 'servicio web',
        'email' => $plan['shortname'] . '@tienda.invalid',
        'auth' => 'manual',
        'confirmed' => 1,
        'policyagreed' => 1,
        'mnethostid' => $CFG->mnet_localhost_id,
    ]);
    $user = core_user::get_user($user_id, '*', MUST_EXIST);
}
// Moodle asks nobody at a web service for a new password or for the site's policy.
unset_user_preference('auth_forcepasswordchange', $user);
$DB->set_field('user', 'policyagreed', 1, ['id' => $user->id]);
role_assign($role_id, $user->id, $system->id);

// The service with its functions.
$service = $service_manager->get_external_service_by_shortname($plan['shortname']);
if (!$service) {
    $service_manager->add_external_service((object) [
        'name' => $plan['name'],
        'shortname' => $plan['shortname'],
        'enabled' => 1,
        'restrictedusers' => 1,
        'downloadfiles' => 0,
        'uploadfiles' => 0,
        'requiredcapability' => '',
    ]);
    $service = $service_manager->get_external_service_by_shortname($plan['shortname'], MUST_EXIST);
}
$DB->set_field('external_services', 'enabled', 1, ['id' => $service->id]);
foreach ($plan['functions'] as $function) {
    if (!$DB->record_exists('external_functions', ['name' => $function])) {
        echo "Moodle $CFG->release no tiene la función $function.\n";
    } else if (!$service_manager->service_function_exists($function, $service->id)) {
        $service_manager->add_external_function_to_service($function, $service->id);
    }
}
if (!$service_manager->get_ws_authorised_user($service->id, $user->id)) {
    $service_manager->add_ws_authorised_user(
        (object) ['externalserviceid' => $service->id, 'userid' => $user->id]
    );
}

// The token. Moodle keeps it readable, so a second run prints the same one.
$kept = ['externalserviceid' => $service->id, 'userid' => $user->id, 'tokentype' => EXTERNAL_TOKEN_PERMANENT];
$tokens = $DB->get_records_select(
    'external_tokens',
    'externalserviceid = :externalserviceid AND userid = :userid AND tokentype = :tokentype'
        . ' AND (validuntil IS NULL OR validuntil = 0 OR validuntil > :now)',
    [...$kept, 'now' => time()]
);
$generator = class_exists('core_external\util') ? 'core_external\util::generate_token' : 'external_generate_token';
$token = $tokens
    ? current($tokens)->token
    : $generator(EXTERNAL_TOKEN_PERMANENT, $service, $user->id, $system, 0, '');

// The shop sends its own mail with the access: Moodle's welcome would be a second one. New courses
// take the setting of the site; the shop's courses are changed one by one.
$sends_welcome = get_config('enrol_manual', 'sendcoursewelcomemessage') !== false;
if ($sends_welcome) {
    set_config('sendcoursewelcomemessage', ENROL_DO_NOT_SEND_EMAIL, 'enrol_manual');
}
$manual = enrol_get_plugin('manual');
if (!$manual || !enrol_is_enabled('manual')) {
    set_config('enrol_plugins_enabled', implode(',', array_unique(
        [...array_filter(explode(',', $CFG->enrol_plugins_enabled)), 'manual']
    )));
    core_plugin_manager::reset_caches();
}
$courses = 0;
foreach ($DB->get_records_select('course', 'id <> :site', ['site' => SITEID]) as $course) {
    $is_shops = in_array((int) $course->id, $plan['courses'])
        || preg_match('/^(asignatura|leccion)-\d+$/', $course->idnumber);
    if (!$is_shops) {
        continue;
    }
    $courses++;
    $instance = $DB->get_record('enrol', ['courseid' => $course->id, 'enrol' => 'manual']);
    if (!$instance) {
        $manual->add_instance($course, ['status' => ENROL_INSTANCE_ENABLED] + $manual->get_instance_defaults());
        continue;
    }
    if ($instance->status != ENROL_INSTANCE_ENABLED) {
        $manual->update_status($instance, ENROL_INSTANCE_ENABLED);
    }
    if ($sends_welcome && $instance->customint1 != ENROL_DO_NOT_SEND_EMAIL) {
        $DB->set_field('enrol', 'customint1', ENROL_DO_NOT_SEND_EMAIL, ['id' => $instance->id]);
    }
}
// One sign-in: the shop is an OpenID Connect provider of Moodle's own plugin auth_oauth2.
$sign_in = $plan['sign_in'];
$marks = ['<!-- academia -->', '<!-- /academia -->'];
$footer = preg_replace('/<!-- academia -->.*?<!-- \/academia -->\n?/s', '', $CFG->additionalhtmlfooter ?? '');
$issuer = current(core\oauth2\issuer::get_records(['name' => $plan['name']])) ?: null;
$secret = '';
if (!$sign_in) {
    if ($issuer && $issuer->get('enabled')) {
        $issuer->set('enabled', 0);
        $issuer->update();
    }
} else {
    $issuer ??= new core\oauth2\issuer(0, (object) [
        'name' => $plan['name'],
        'image' => '',
        'clientid' => $sign_in['client_id'],
        'clientsecret' => bin2hex(random_bytes(32)),
    ]);
    foreach ([
        'baseurl' => $sign_in['issuer'],
        'clientid' => $sign_in['client_id'],
        'enabled' => 1,
        'showonloginpage' => core\oauth2\issuer::LOGINONLY,
        'loginpagename' => $sign_in['label'],
        'loginscopes' => 'openid profile email',
        'loginscopesoffline' => 'openid profile email',
        'scopessupported' => 'openid profile email',
        'basicauth' => 1,
        // The shop names only an address whose owner has proved it, of the student's own user.
        'requireconfirmation' => 0,
    ] as $name => $value) {
        $issuer->set($name, $value);
    }
    $issuer->save();
    $secret = $issuer->get('clientsecret');
    $of_issuer = ['issuerid' => $issuer->get('id')];
    foreach (core\oauth2\endpoint::get_records($of_issuer) as $endpoint) {
        $endpoint->delete();
    }
    foreach ($sign_in['endpoints'] as $name => $url) {
        (new core\oauth2\endpoint(0, (object) ($of_issuer + ['name' => $name, 'url' => $url])))->create();
    }
    foreach (core\oauth2\user_field_mapping::get_records($of_issuer) as $mapping) {
        $mapping->delete();
    }
    foreach ($sign_in['mappings'] as $external => $internal) {
        (new core\oauth2\user_field_mapping(0, (object) ($of_issuer + [
            'externalfield' => $external,
            'internalfield' => $internal,
        ])))->create();
    }
    // The users are the shop's work: Moodle makes none, and nobody links their own to another.
    $auths = array_filter(explode(',', $CFG->auth ?? ''));
    if (!in_array('oauth2', $auths)) {
        set_config('auth', implode(',', [...$auths, 'oauth2']));
        core\session\manager::gc();
    }
    set_config('authpreventaccountcreation', 1);
    foreach (get_roles_with_capability('auth/oauth2:managelinkedlogins', CAP_ALLOW, $system) as $role) {
        unassign_capability('auth/oauth2:managelinkedlogins', $role->id, $system->id);
    }
    $script = str_replace('ISSUER_ID', (string) $issuer->get('id'), $sign_in['script']);
    $footer .= $marks[0] . $script . $marks[1] . "\n";
}
set_config('additionalhtmlfooter', $footer);
accesslib_clear_all_caches(true);
purge_all_caches();

echo "\nMoodle está preparado. Cursos de la tienda: $courses.\n";
echo "Escribe en el entorno de la tienda:\n\n";
echo "CLASSROOM=moodle\nMOODLE_URL=$CFG->wwwroot\nMOODLE_TOKEN=$token\n";
echo "MOODLE_STUDENT_ROLE=$student_role->id\nPORTAL_URL=$CFG->wwwroot/my/\n";
if ($sign_in) {
    echo "CLASSROOM_SIGN_IN=true\nOIDC_CLIENT_SECRET=$secret\n";
}
