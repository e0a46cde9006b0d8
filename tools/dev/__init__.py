"""What `make` calls: installing, running and testing the shop on a developer's machine."""
