"""The API group `garden.sapcloud.io`."""
