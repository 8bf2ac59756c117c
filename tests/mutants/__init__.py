"""Mutation testing of the judge, outside of `make test`: `make mutate`, docs/mutation.md."""
