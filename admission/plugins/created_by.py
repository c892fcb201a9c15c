"""Notes on a shoot who created it."""

from admission.plugins.lookups import SHOOTS
from apis.meta.request import Attributes, Operation

CREATED_BY = "garden.sapcloud.io/createdBy"


class CreatedBy:
    """The annotation is the user of the create, whatever an object says, and never changes."""

    async def admit(self, attributes: Attributes) -> None:
        obj = attributes.obj
        if obj is None or attributes.resource.plural != SHOOTS or attributes.subresource:
            return
        metadata = obj["metadata"]
        if attributes.operation is Operation.CREATE:
            author: str | None = attributes.user.name
        else:
            old = attributes.old or {}
            author = (old["metadata"].get("annotations") or {}).get(CREATED_BY)
        annotations = metadata.get("annotations") or {}
        if annotations.get(CREATED_BY) == author:
            return
        # A new dict: an update may share its annotations with the old object.
        others = {key: value for key, value in annotations.items() if key != CREATED_BY}
        if author is not None:
            others[CREATED_BY] = author
        if others:
            metadata["annotations"] = others
        else:
            del metadata["annotations"]
