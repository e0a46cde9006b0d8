"""Tags that spare the template engine work: drawings and fixed addresses."""

import pytest
from django.template import Context, Template, TemplateSyntaxError
from django.template.base import TextNode
from django.template.loader import get_template, render_to_string

from apps.core.templatetags.academy import FixedUrl


def rendered(source, **context):
    return Template(source).render(Context(context))


def test_drawing_is_a_part_of_its_template():
    template = Template('{% drawing "includes/icons/star.html" %}')

    assert [type(node) for node in template.nodelist] == [TextNode]
    assert template.render(Context()) == render_to_string("includes/icons/star.html")


def test_drawing_with_variables_is_refused():
    assert "{{" in get_template("includes/brand.html").template.source
    with pytest.raises(TemplateSyntaxError, match="no drawing"):
        Template('{% drawing "includes/brand.html" %}')


def test_address_without_arguments_is_fixed_and_others_are_not():
    assert isinstance(Template("{% url 'compra' %}").nodelist[0], FixedUrl)
    assert rendered("{% url 'compra' %}") == "/compra"

    assert rendered("{% url 'comp'|add:end %}", end="ra") == "/compra"
    assert rendered("{% url name %}, {% url 'precios' as there %}{{ there }}", name="compra") == (
        "/compra, /precios"
    )
    assert rendered("{% url 'admin:index' %}") == "/admin/"
