// Package programs tests the program from outside, with programs that a machine with Git
// alone lacks.
package programs

import (
	"testing"

	"fairlead.dev/test/run/needs"
	"fairlead.dev/test/system/cli/script"
)

func TestMain(m *testing.M) { script.Main(m) }

func TestScripts(t *testing.T) {
	for _, program := range []string{"curl", "openssl", "ssh-keygen", "/usr/sbin/sshd"} {
		_, _ = needs.LookPath(program) // go test remembers who was there
	}
	script.Run(t, "testdata/script")
}
