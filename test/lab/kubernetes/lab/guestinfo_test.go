package lab

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGuestinfo: what cloud-init's data source VMware reads from its environment.
func TestGuestinfo(t *testing.T) {
	got := guestinfo(map[string]string{
		"guestinfo.metadata": "YQ==", "guestinfo.metadata.encoding": "base64",
		"guestinfo.userdata": "#cloud-config\n{}\n", "fairlead.dev/tags": "{}",
	})
	want := `VMX_GUESTINFO=1
VMX_GUESTINFO_METADATA=YQ==
VMX_GUESTINFO_METADATA_ENCODING=base64
VMX_GUESTINFO_USERDATA=I2Nsb3VkLWNvbmZpZwp7fQo=
VMX_GUESTINFO_USERDATA_ENCODING=base64
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
