"""All of Nova in one process: API, metadata, conductor, scheduler and one compute
per word of LAB_HOSTS, which talk over oslo.messaging's fake:// transport, as
Nova's own functional tests do."""

import os
import sys

import nova.cmd  # noqa: F401  patches the standard library first

import os_vif
from oslo_log import log as logging
from oslo_privsep import priv_context
from oslo_service import service as oslo_service

import nova.conf
from nova import config, context, objects, service
from nova.compute import rpcapi as compute
from nova.conductor import rpcapi as conductor
from nova.objects import host_mapping
from nova.scheduler import rpcapi as scheduler

from fairlead_lab import nova_driver

CONF = nova.conf.CONF

# Nova looks for drivers below nova.virt only; compute_driver = lab.LabDriver finds it there.
sys.modules['nova.virt.lab'] = nova_driver


def start(host, binary, topic):
    s = service.Service.create(host=host, binary=binary, topic=topic)
    s.start()
    return s


def main():
    config.parse_args(sys.argv)
    logging.setup(CONF, 'nova')
    priv_context.init(root_helper=[])
    objects.register_all()
    os_vif.initialize()
    objects.Service.enable_min_version_cache()

    running = [start('control', 'nova-conductor', conductor.RPC_TOPIC),
               start('control', 'nova-scheduler', scheduler.RPC_TOPIC)]
    for host in os.environ['LAB_HOSTS'].split():
        CONF.set_override('host', host)
        running.append(start(host, 'nova-compute', compute.RPC_TOPIC))
    CONF.set_override('host', 'control')
    host_mapping.discover_hosts(context.get_admin_context())

    launcher = oslo_service.ServiceLauncher(CONF, restart_method='mutate')
    for api in CONF.enabled_apis:
        launcher.launch_service(service.WSGIService(api), workers=1)
    launcher.wait()
