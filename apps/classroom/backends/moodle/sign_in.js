// For Moodle's "HTML adicional": the script of setup.php fills in the two names in capitals.
(() => {
  // On the login page: whoever comes from the shop goes back there at once, without a button.
  const button = document.querySelector('a[href*="/auth/oauth2/login.php?id=ISSUER_ID&"]');
  const refused = document.querySelector("#loginerrormessage, .loginerrors .error");
  if (location.hash === "#academia" && button && !refused) {
    history.replaceState(null, "", location.pathname + location.search);
    location.assign(button.href);
  }
  // After a sign-out of Moodle: the shop asks whether to sign out there, too.
  document.addEventListener("click", (event) => {
    if (event.target.closest?.('a[href*="/login/logout.php?sesskey="]')) {
      sessionStorage.setItem("academia-salir", "1");
    }
  });
  if (document.body.classList.contains("notloggedin") && sessionStorage.getItem("academia-salir")) {
    sessionStorage.removeItem("academia-salir");
    location.assign(`SIGN_OUT_ADDRESS${encodeURIComponent(`${M.cfg.wwwroot}/`)}`);
  }
})();
