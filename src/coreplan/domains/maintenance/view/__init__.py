"""Maintenance plans for people: charts, tables and rules."""
