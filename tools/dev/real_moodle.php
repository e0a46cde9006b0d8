<?php
// Prepares a Moodle for the tests, from its own folder: the token of an administrator.

define('CLI_SCRIPT', true);
require(getcwd() . '/config.php');
require_once("$CFG->dirroot/webservice/lib.php");

core\session\manager::set_user(get_admin());
// A password of a test has no symbol that the policy asks for, and one that is refused lacks it.
$manager = new webservice();
set_config('enablewebservices', 1);
set_config('webserviceprotocols', 'rest');
$manager->add_external_service((object) [
    'name' => 'Pruebas', 'shortname' => 'pruebas', 'enabled' => 1, 'restrictedusers' => 0,
    'downloadfiles' => 0, 'uploadfiles' => 0, 'requiredcapability' => '',
]);
$service = $manager->get_external_service_by_shortname('pruebas', MUST_EXIST);
foreach (array_slice($argv, 1) as $function) {
    $manager->add_external_function_to_service($function, $service->id);
}
echo core_external\util::generate_token(
    EXTERNAL_TOKEN_PERMANENT, $service, get_admin()->id, context_system::instance(), 0, ''
);
