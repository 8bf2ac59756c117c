"""The program that runs inside the environment under audit: standard library and the packages under audit, nothing else.

It never imports the orchestrator. It takes commands on standard input and answers on standard output; what it sees goes to
the journal of the case at hand.
"""
