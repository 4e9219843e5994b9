"""Domains: kinds of problems, each with its own words, files and pictures."""
