"""`make test-upgrade` finds the previous release, or says that there is none."""

import subprocess

from tools.dev import upgrade


def test_without_a_history_nothing_is_checked_and_nothing_fails(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(upgrade, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.delenv("PREVIOUS", raising=False)

    assert upgrade.test_upgrade() == 0
    assert "no se ha comprobado nada" in capsys.readouterr().out


def test_previous_release_is_the_last_tag_else_the_commit_before(monkeypatch, tmp_path):
    monkeypatch.setattr(upgrade, "ROOT", tmp_path)
    monkeypatch.delenv("PREVIOUS", raising=False)

    def git(*arguments):
        identity = ("-c", "user.name=Ana", "-c", "user.email=ana@example.com")
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    git("init", "--quiet")
    commits = []
    for number in range(3):
        git("commit", "--quiet", "--allow-empty", "--message", str(number))
        commits.append(git("rev-parse", "HEAD"))

    assert upgrade.previous_release() == commits[1]
    git("tag", "v1", commits[0])
    assert upgrade.previous_release() == commits[0]
    monkeypatch.setenv("PREVIOUS", commits[1])
    assert upgrade.previous_release() == commits[1]
