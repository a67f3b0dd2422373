from cinder.tests import fake_driver


class LabDriver(fake_driver.FakeLoggingVolumeDriver):
    """Volumes that hold no bytes; an image is "cloned" into one at once."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # What it reports is what volume types ask for.
        self.backend_name = self.configuration.volume_backend_name

    def clone_image(self, context, volume, image_location, image_meta, image_service):
        return {'provider_location': None}, True

    def create_cloned_volume(self, volume, src_vref):
        pass

    def extend_volume(self, volume, new_size):
        pass
