"""The kinds of garden.sapcloud.io/v1beta1: one file per kind, declared once."""
