package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"fairlead.dev/providers/infrastructure/metal3/metal3test"
	"fairlead.dev/test/lab/daemon"
)

// ready says how to reach i, when it serves. Beside the files of a process it leaves:
//
//	ca.crt       what its certificate is signed with
//	hosts.yaml   its hosts and their Secrets, as manifests of Metal3
func ready(p daemon.Process, i *metal3test.Ironic, hosts []*metal3test.Host) error {
	env := fmt.Sprintf(`export OS_AUTH_TYPE=http_basic
export OS_ENDPOINT=%s
export OS_USERNAME=%s
export OS_PASSWORD='%s'
export OS_CACERT=%s
export IMAGE=%s IMAGE_SHA256=%s
export DEPLOY_ISO=%s
# hosts: %s
`, i.URL(), metal3test.User, metal3test.Password, p.File("ca.crt"), i.ImageURL(), i.ImageSHA256(), i.RamdiskURL(), p.File("hosts.yaml"))
	var manifests strings.Builder
	for _, h := range hosts {
		fmt.Fprintf(&manifests, manifest, h.Name(), h.Name(), h.BMC(), h.Name(), h.MAC(), h.Name(), metal3test.BMCUser, h.Password())
	}
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(p.File("ca.crt"), i.CA(), 0o600),
		os.WriteFile(p.File("hosts.yaml"), []byte(manifests.String()), 0o600),
		p.Ready(env),
	)
}

// manifest is a host.
const manifest = `---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata:
  name: %s
  labels:
    host: %s
spec:
  bmc:
    address: %s
    credentialsName: %s-bmc
  bootMACAddress: "%s"
  bootMode: UEFI
  online: true
---
apiVersion: v1
kind: Secret
metadata:
  name: %s-bmc
stringData:
  username: %s
  password: %s
`
