"""``headway show``: everything of one job."""

from __future__ import annotations

from headway.cli.commands.options import LOCAL, Json, Name, Namespace


def show(name: Name, namespace: Namespace = LOCAL, json: Json = False) -> None:
    """Show one job: verdict and evidence, progress, metrics, attempts, cost, configuration."""
    import time

    from headway.cli import documents, terminal
    from headway.cli.render.page import page
    from headway.cli.render.view import Seen
    from headway.client.client import Client

    with Client() as client:
        job = client.job(name, namespace=namespace)
        now = time.time()
        series = []
        if job.attempts:
            series = client.series(
                name, namespace=namespace, attempt=job.attempts[-1].id, points=documents.HISTORY_POINTS
            )
    if json:
        terminal.write(documents.strict_json(documents.job_document(job, series)) + "\n")
        return
    history = {each.metric: [point.mean for point in each.points] for each in series}
    terminal.show(page(Seen(job, now), history, terminal.view(now)))
