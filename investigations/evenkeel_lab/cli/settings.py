"""`evenkeel settings`: the settings of the plugin, as tables or as a JSON schema for editors."""

from __future__ import annotations

import json

import click

from litellm_evenkeel.settings import schema, tables


@click.command()
@click.option("--schema", "as_schema", is_flag=True, help="Print a JSON schema of the proxy's YAML, for editors.")
def settings(*, as_schema: bool) -> None:
    """List the settings of the plugin, with their defaults.

    They are written into the section `evenkeel:` of the proxy's YAML. With a JSON schema, an editor completes them.
    """
    if as_schema:
        click.echo(json.dumps(schema(), indent=2))
        return
    for title, table in tables().items():
        click.echo(f"## {title}\n\n{table}\n")
