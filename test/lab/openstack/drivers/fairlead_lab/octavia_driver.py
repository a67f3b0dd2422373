"""An Octavia provider without amphorae: Octavia's own API, database and VIP
ports, and what an amphora driver would report."""

import logging
import threading
import time

from octavia.api.drivers.driver_agent import driver_updater
from octavia.db import api as db
from octavia.db import repositories
from octavia_lib.api.drivers import provider_base

LOG = logging.getLogger(__name__)
DELAY = 0.3  # seconds that a change stays PENDING

IDS = {'loadbalancers': 'loadbalancer_id', 'listeners': 'listener_id', 'pools': 'pool_id',
       'members': 'member_id', 'healthmonitors': 'healthmonitor_id',
       'l7policies': 'l7policy_id', 'l7rules': 'l7rule_id'}

reports = threading.Lock()


def row(id, provisioning='ACTIVE', operating='ONLINE'):
    return {'id': id, 'provisioning_status': provisioning, 'operating_status': operating}


def gone(obj):
    return row(obj.id, 'DELETED', 'OFFLINE')


def given(value):
    """The list if it was part of the request: what was not is a marker object."""
    return value if isinstance(value, (list, tuple)) else []


class LabDriver(provider_base.ProviderDriver):
    """Each object becomes ACTIVE and ONLINE after DELAY; one with "lab-error" in
    its name becomes ERROR, as when no amphora can be built. Octavia makes the
    VIP's port itself, as there is no create_vip_port."""

    def _report(self, lb_id, status):
        """Report the status of objects after DELAY. Octavia locks the ancestors of
        what it changes: the load balancer lb_id and all below it that are left
        PENDING_UPDATE are given back with it."""
        def report():
            time.sleep(DELAY)
            with reports:
                try:
                    if lb_id:
                        self._unlock(lb_id, status)
                    answer = driver_updater.DriverUpdater().update_loadbalancer_status(status)
                    if answer.get('status_code') != 200:
                        LOG.error('cannot report %s: %s', status, answer)
                except Exception:
                    LOG.exception('cannot report %s', status)
        threading.Thread(target=report, daemon=True).start()

    def _unlock(self, lb_id, status):
        lb = repositories.LoadBalancerRepository().get(db.get_session(), id=lb_id)
        for kind, objects in (('listeners', lb.listeners), ('pools', lb.pools)):
            named = {r['id'] for r in status.get(kind, [])}
            status.setdefault(kind, []).extend(
                {'id': o.id, 'provisioning_status': 'ACTIVE'} for o in objects
                if o.id not in named and o.provisioning_status == 'PENDING_UPDATE')
        status.setdefault('loadbalancers', []).append(row(lb_id))

    def _changed(self, lb_id, kind, obj):
        id = getattr(obj, IDS[kind])
        if 'lab-error' in str(getattr(obj, 'name', None) or ''):
            return self._report(lb_id, {kind: [row(id, 'ERROR', 'ERROR')]})
        self._report(lb_id, {kind: [row(id)]})

    def _deleted(self, lb_id, kind, obj):
        self._report(lb_id, {kind: [row(getattr(obj, IDS[kind]), 'DELETED', 'OFFLINE')]})

    # Which load balancer something belongs to.

    def _of(self, repository, id):
        obj = repository.get(db.get_session(), id=id)
        return obj and (obj.load_balancer_id or obj.load_balancer.id)

    def _of_pool(self, id):
        return self._of(repositories.PoolRepository(), id)

    def _of_listener(self, id):
        return self._of(repositories.ListenerRepository(), id)

    def _of_policy(self, id):
        policy = repositories.L7PolicyRepository().get(db.get_session(), id=id)
        return policy and self._of_listener(policy.listener_id)

    # Load balancers, which may be created with all that is below them.

    def loadbalancer_create(self, loadbalancer):
        status = {}
        for listener in given(loadbalancer.listeners):
            status.setdefault('listeners', []).append(row(listener.listener_id))
        for pool in given(loadbalancer.pools):
            status.setdefault('pools', []).append(row(pool.pool_id))
            for member in given(pool.members):
                status.setdefault('members', []).append(row(member.member_id, operating='NO_MONITOR'))
            monitor = getattr(pool.healthmonitor, 'healthmonitor_id', None)
            if monitor:
                status.setdefault('healthmonitors', []).append(row(monitor))
        bad = 'lab-error' in str(loadbalancer.name or '')
        status['loadbalancers'] = [row(loadbalancer.loadbalancer_id, *(('ERROR', 'ERROR') if bad else ()))]
        self._report(None, status)

    def loadbalancer_update(self, old_loadbalancer, new_loadbalancer):
        self._changed(None, 'loadbalancers', old_loadbalancer)

    def loadbalancer_failover(self, loadbalancer_id):
        self._report(loadbalancer_id, {})

    def loadbalancer_delete(self, loadbalancer, cascade=False):
        status = {'loadbalancers': [row(loadbalancer.loadbalancer_id, 'DELETED', 'OFFLINE')]}
        if cascade:
            lb = repositories.LoadBalancerRepository().get(db.get_session(), id=loadbalancer.loadbalancer_id)
            for pool in lb.pools:
                status.setdefault('members', []).extend(gone(m) for m in pool.members)
                if pool.health_monitor:
                    status.setdefault('healthmonitors', []).append(gone(pool.health_monitor))
                status.setdefault('pools', []).append(gone(pool))
            for listener in lb.listeners:
                for policy in listener.l7policies:
                    status.setdefault('l7rules', []).extend(gone(r) for r in policy.l7rules)
                    status.setdefault('l7policies', []).append(gone(policy))
                status.setdefault('listeners', []).append(gone(listener))
        self._report(None, status)

    # What is below them.

    def listener_create(self, listener):
        self._changed(listener.loadbalancer_id, 'listeners', listener)

    def listener_update(self, old_listener, new_listener):
        self._changed(self._of_listener(old_listener.listener_id), 'listeners', old_listener)

    def listener_delete(self, listener):
        self._deleted(self._of_listener(listener.listener_id), 'listeners', listener)

    def pool_create(self, pool):
        self._changed(pool.loadbalancer_id, 'pools', pool)

    def pool_update(self, old_pool, new_pool):
        self._changed(self._of_pool(old_pool.pool_id), 'pools', old_pool)

    def pool_delete(self, pool):
        self._deleted(self._of_pool(pool.pool_id), 'pools', pool)

    def member_create(self, member):
        self._changed(self._of_pool(member.pool_id), 'members', member)

    def member_update(self, old_member, new_member):
        self._changed(self._of_pool(old_member.pool_id), 'members', old_member)

    def member_delete(self, member):
        self._deleted(self._of_pool(member.pool_id), 'members', member)

    def member_batch_update(self, pool_id, members):
        pool = repositories.PoolRepository().get(db.get_session(), id=pool_id)
        wanted = {m.member_id for m in members}
        status = [gone(m) for m in pool.members if m.id not in wanted] + [row(id) for id in wanted]
        self._report(self._of_pool(pool_id), {'members': status})

    def health_monitor_create(self, healthmonitor):
        self._changed(self._of_pool(healthmonitor.pool_id), 'healthmonitors', healthmonitor)

    def health_monitor_update(self, old_healthmonitor, new_healthmonitor):
        self._changed(self._of_pool(old_healthmonitor.pool_id), 'healthmonitors', old_healthmonitor)

    def health_monitor_delete(self, healthmonitor):
        self._deleted(self._of_pool(healthmonitor.pool_id), 'healthmonitors', healthmonitor)

    def l7policy_create(self, l7policy):
        self._changed(self._of_listener(l7policy.listener_id), 'l7policies', l7policy)

    def l7policy_update(self, old_l7policy, new_l7policy):
        self._changed(self._of_policy(old_l7policy.l7policy_id), 'l7policies', old_l7policy)

    def l7policy_delete(self, l7policy):
        self._deleted(self._of_listener(l7policy.listener_id), 'l7policies', l7policy)

    def l7rule_create(self, l7rule):
        self._changed(self._of_policy(l7rule.l7policy_id), 'l7rules', l7rule)

    def l7rule_update(self, old_l7rule, new_l7rule):
        self._changed(self._of_policy(old_l7rule.l7policy_id), 'l7rules', old_l7rule)

    def l7rule_delete(self, l7rule):
        self._deleted(self._of_policy(l7rule.l7policy_id), 'l7rules', l7rule)

    # Flavors and zones take no settings.

    def get_supported_flavor_metadata(self):
        return {}

    def validate_flavor(self, flavor_metadata):
        pass

    def get_supported_availability_zone_metadata(self):
        return {}

    def validate_availability_zone(self, availability_zone_metadata):
        pass
