"""Workflow-as-code: YAML in a repository, compiled to a DAG and run durably."""

__version__ = "0.1.0"
