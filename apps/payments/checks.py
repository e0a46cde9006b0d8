def configuration_problems() -> list[str]:
    return []
