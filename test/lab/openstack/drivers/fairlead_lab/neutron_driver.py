"""What Neutron's agents would do, of which there are none."""

from neutron.plugins.ml2 import ovo_rpc
from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.callbacks import events, registry, resources
from neutron_lib.plugins import constants as plugins
from neutron_lib.plugins import directory
from neutron_lib.plugins.ml2 import api


class LabDriver(api.MechanismDriver):
    """Binds each normal port on whatever host it is to be, and makes ports of
    routers and floating IPs ACTIVE. A port of another kind (vnic_type direct, …)
    cannot be bound, as on a cloud without SR-IOV."""

    def initialize(self):
        # Nobody listens to what would be pushed to agents.
        ovo_rpc.OVOServerRpcInterface = lambda *args, **kwargs: None
        for event in (events.AFTER_CREATE, events.AFTER_UPDATE):
            registry.subscribe(self._floating_ip, resources.FLOATING_IP, event)

    def _floating_ip(self, resource, event, trigger, payload):
        status = constants.FLOATINGIP_STATUS_DOWN
        if payload.latest_state.get('port_id'):
            status = constants.FLOATINGIP_STATUS_ACTIVE
        directory.get_plugin(plugins.L3).update_floatingip_status(
            payload.context.elevated(), payload.resource_id, status)

    def bind_port(self, context):
        if context.current[portbindings.VNIC_TYPE] != portbindings.VNIC_NORMAL:
            return
        for segment in context.segments_to_bind:
            context.set_binding(segment[api.ID], portbindings.VIF_TYPE_OVS,
                                {portbindings.CAP_PORT_FILTER: True,
                                 portbindings.VIF_DETAILS_BRIDGE_NAME: 'br-int'},
                                status=constants.PORT_STATUS_ACTIVE)
            return

    def _router_port(self, context):
        port = context.current
        if port['device_owner'].startswith('network:router') and port['status'] != constants.PORT_STATUS_ACTIVE:
            directory.get_plugin().update_port_status(
                context._plugin_context, port['id'], constants.PORT_STATUS_ACTIVE)

    create_port_postcommit = _router_port
    update_port_postcommit = _router_port
