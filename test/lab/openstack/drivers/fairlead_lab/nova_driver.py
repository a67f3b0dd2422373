from nova import exception
from nova.virt import fake


class LabDriver(fake.FakeDriver):
    """Nova's fake hypervisor, which "boots" at once, with two ways to fail:

    a server of flavor lab.aborts ends in ERROR on the first host, as one whose
    volume or network cannot be attached; one of flavor lab.crashes is tried on
    host after host until Nova gives up, as with a broken hypervisor.
    """

    def spawn(self, context, instance, *args, **kwargs):
        if instance.flavor.name == 'lab.aborts':
            raise exception.BuildAbortException(instance_uuid=instance.uuid, reason='the disk is on fire')
        if instance.flavor.name == 'lab.crashes':
            raise exception.InternalError('the hypervisor is on fire')
        return super().spawn(context, instance, *args, **kwargs)
