"""The shops that `make bench-peers` compares with. Each runs in an environment of its own."""
