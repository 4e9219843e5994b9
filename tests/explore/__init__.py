"""Exploration: random cases against checks that hold for every case.

``make explore`` runs the campaigns for some minutes, ``make fuzz`` the readers under a fuzzer that
follows coverage. A *case* is a plain dictionary that a campaign draws from a seed and checks; a
check that fails raises a ``Complaint``. See CONTRIBUTING.md for how to run and replay them.
"""
