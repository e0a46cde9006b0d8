from django.core.management import call_command


def run_worker() -> None:
    """Run a task worker for all queues until no task is due."""
    call_command("worker", queue_name="*", batch=True, interval=0, startup_delay=False, verbosity=0)
