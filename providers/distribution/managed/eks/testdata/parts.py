# Reads user data as cloud-init does when a machine boots, and prints what each part was read as: its type, whether
# something handled it, and the cloud-config that came of it. It changes nothing of the machine.
import json
import os
import sys

from cloudinit import handlers, helpers, safeyaml, user_data
from cloudinit.handlers.jinja_template import JinjaTemplatePartHandler


class CloudConfig(handlers.Handler):
    """Keeps the cloud-config that it is given."""

    prefixes = ["#cloud-config"]
    read = []

    def __init__(self):
        handlers.Handler.__init__(self, "always", version=3)

    def handle_part(self, data, ctype, filename, payload, frequency, headers):
        self.read.append(safeyaml.load(payload))


dir = sys.argv[1]
paths = helpers.Paths({"cloud_dir": dir, "run_dir": dir}, None)
with open(paths.get_runpath("instance_data_sensitive"), "w") as f:
    json.dump({"v1": {"instance_id": "i-1", "availability_zone": "eu-central-1a"}}, f)
with open(os.path.join(dir, "user-data"), "rb") as f:
    message = user_data.UserDataProcessor(paths).process(f.read())
config = CloudConfig()
jinja = JinjaTemplatePartHandler(paths, sub_handlers=[config])
parts = []
for part in message.walk():
    if part.is_multipart():
        continue
    kind, payload = part.get_content_type(), part.get_payload(decode=True).decode()
    handled = kind in jinja.list_types()
    parts.append(kind + (" handled" if handled else ""))
    if handled:
        jinja.handle_part(None, kind, "part", payload, "always", {})
json.dump({"Parts": parts, "Config": config.read}, sys.stdout)
