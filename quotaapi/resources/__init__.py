"""The kinds of the group, served: each kind's declaration put together with the registry."""
