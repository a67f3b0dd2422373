"""All of Cinder in one process: API, scheduler and volume service over
oslo.messaging's fake:// transport."""

import sys

import eventlet
eventlet.monkey_patch()

# What threading knew before it was patched has to follow, as in Cinder's own commands.
import __original_module_threading as original  # noqa: E402
import threading  # noqa: E402
original.current_thread.__globals__['_active'] = threading._active

from oslo_config import cfg  # noqa: E402
from oslo_log import log as logging  # noqa: E402
from oslo_service import service as oslo_service  # noqa: E402

from cinder import i18n  # noqa: E402
i18n.enable_lazy()

from cinder import coordination, objects, rpc, service, utils, version  # noqa: E402
from cinder.common import config, constants  # noqa: E402
from cinder.scheduler import rpcapi  # noqa: E402,F401  registers its options

CONF = cfg.CONF
CONF.register_cli_opt(cfg.StrOpt('backend_host'))
CONF.register_opt(cfg.StrOpt('cluster'))


def main():
    objects.register_all()
    CONF(sys.argv[1:], project='cinder', version=version.version_string())
    config.set_middleware_defaults()
    logging.setup(CONF, 'cinder')
    utils.monkey_patch()
    coordination.COORDINATOR.start()
    rpc.init(CONF)

    launcher = oslo_service.ServiceLauncher(CONF, restart_method='mutate')
    launcher.launch_service(service.Service.create(binary=constants.SCHEDULER_BINARY))
    for backend in CONF.enabled_backends:
        CONF.register_opt(cfg.StrOpt('backend_host'), group=backend)
        launcher.launch_service(service.Service.create(
            host='%s@%s' % (CONF.host, backend), service_name=backend,
            binary=constants.VOLUME_BINARY, coordination=True))
    launcher.launch_service(service.WSGIService('osapi_volume'))
    launcher.wait()
