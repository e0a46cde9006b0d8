"""Lists of the whole catalogue read their pages and counts from an index alone."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.catalogue import reads
from apps.catalogue.services import refresh_statistics
from tests.helpers.large_catalogue import fill_catalogue
from tests.helpers.query_plans import plan_of

OVER_ALL = {
    "all": {},
    "all, last page": {"page": 9999},
    "a search of one letter": {"search": "e"},
    "a search of two letters": {"search": "y3"},
    "a search of two letters, last page": {"search": "so", "page": 9999},
}


# VACUUM, which a seed and an import run, works only outside a transaction.
@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_full_list_uses_an_index_only_scan_after_refresh_statistics():
    fill_catalogue()
    refresh_statistics()

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, relallvisible, relpages FROM pg_class WHERE relkind = 'r' "
            "AND relname IN ('catalogue_university', 'catalogue_degree', 'catalogue_subject', "
            "'catalogue_lesson', 'catalogue_pricechange')"
        )
        pages = {name: (visible, there) for name, visible, there in cursor.fetchall()}
    assert len(pages) == 5
    assert all(visible == there > 0 for visible, there in pages.values()), pages
    for asked in OVER_ALL.values():
        with CaptureQueriesContext(connection) as captured:
            reads.catalogue_page(**asked)
        plans = [
            plan_of(query["sql"])
            for query in captured.captured_queries
            if 'FROM "catalogue_subject"' in query["sql"]
        ]
        # The query that counts and the query of the page.
        assert len(plans) == 2
        for plan in plans:
            assert "Seq Scan on catalogue_subject" not in plan, (asked, plan)
            assert re.search("Index Only Scan using subject_shown", plan), (asked, plan)
