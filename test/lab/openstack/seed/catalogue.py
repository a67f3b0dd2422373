"""catalogue.py PORT_BASE: the service catalogue, the roles that the services ask
for, and the project and user "demo"."""

import sys

import openstack

base = int(sys.argv[1])
cloud = openstack.connect(cloud='admin')

volumes = f'http://127.0.0.1:{base + 6}/v3/%(project_id)s'
for kind, name, url in (
        ('compute', 'nova', f'http://127.0.0.1:{base + 1}/v2.1'),
        ('placement', 'placement', f'http://127.0.0.1:{base + 3}'),
        ('image', 'glance', f'http://127.0.0.1:{base + 4}'),
        ('network', 'neutron', f'http://127.0.0.1:{base + 5}'),
        ('volumev3', 'cinderv3', volumes),
        ('block-storage', 'cinder', volumes),
        ('load-balancer', 'octavia', f'http://127.0.0.1:{base + 7}')):
    service = cloud.identity.create_service(type=kind, name=name)
    for interface in ('public', 'internal', 'admin'):
        cloud.identity.create_endpoint(service_id=service.id, interface=interface, url=url, region_id='RegionOne')

for role in ('load-balancer_member', 'load-balancer_admin', 'service', 'creator'):
    cloud.identity.create_role(name=role)


def grant(user, project, *roles):
    for role in roles:
        cloud.identity.assign_project_role_to_user(project, user, cloud.identity.find_role(role))


demo = cloud.identity.create_project(name='demo', domain_id='default')
user = cloud.identity.create_user(name='demo', password='demo-pw', domain_id='default', default_project_id=demo.id)
grant(user, demo, 'member', 'reader', 'load-balancer_member')
grant(cloud.identity.find_user('admin'), cloud.identity.find_project('admin'), 'service', 'load-balancer_admin')
