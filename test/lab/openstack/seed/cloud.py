"""cloud.py HOSTS: flavors, availability zones, images, the external network and
a volume type."""

import sys
import time

import openstack

hosts = sys.argv[1].split()
cloud = openstack.connect(cloud='admin')

for name, cpus, ram, disk in (
        ('m1.tiny', 1, 512, 1),
        ('m1.small', 2, 4096, 20),
        ('m1.medium', 4, 8192, 40),
        ('m1.nodisk', 2, 4096, 0),      # boots from volume only
        ('lab.huge', 4096, 4096, 20),   # fits on no host
        ('lab.aborts', 1, 512, 1),      # see drivers/fairlead_lab/nova_driver.py
        ('lab.crashes', 1, 512, 1)):
    cloud.compute.create_flavor(name=name, vcpus=cpus, ram=ram, disk=disk)

for _ in range(300):
    up = {s.host for s in cloud.compute.services(binary='nova-compute') if s.state == 'up'}
    if set(hosts) <= up:
        break
    time.sleep(0.3)
else:
    sys.exit('these computes do not come up: %s' % sorted(set(hosts) - up))

for zone in sorted({h.split('-')[0] for h in hosts}):
    aggregate = cloud.compute.create_aggregate(name=zone, availability_zone=zone)
    for host in hosts:
        if host.split('-')[0] == zone:
            cloud.compute.add_host_to_aggregate(aggregate, host)

for name, distribution in (('ubuntu', 'ubuntu'), ('flatcar', 'flatcar')):
    cloud.create_image(name, data=b'\0' * 65536, disk_format='raw', container_format='bare', visibility='public',
                       min_disk=0, tags=['lab', name], os_distro=distribution, allow_duplicates=True, wait=True)

public = cloud.network.create_network(name='public', is_router_external=True,
                                      provider_network_type='flat', provider_physical_network='public')
# A /16 has room for the floating IPs and routers of many tests at once (RFC 2544's range for benchmarks).
cloud.network.create_subnet(name='public-v4', network_id=public.id, ip_version=4, cidr='198.18.0.0/16',
                            gateway_ip='198.18.0.1', is_dhcp_enabled=False)

cloud.block_storage.create_type(name='lab', extra_specs={'volume_backend_name': 'lab'})
