import os

from octavia.api import app

application = app.setup_app(argv=['octavia-api', '--config-file', os.environ['LAB_OCTAVIA_CONF']])
